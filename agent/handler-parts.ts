import type { Health } from '../shared/schemas/system.ts'
import type { BackupParts } from './backup-parts.ts'
import type { AuditTrail } from './core/audit-trail.ts'
import type { BoxActivity } from './core/box-activity.ts'
import type { EventFeed } from './core/event-feed.ts'
import type { Execs } from './core/execs.ts'
import type { Jobs } from './core/jobs.ts'
import type { Reconciler } from './core/reconciler.ts'
import type { Forks } from './core/service-forks.ts'
import type { LogStreams } from './core/service-log-streams.ts'
import type { ServiceSupervisor } from './core/service-supervisor.ts'
import type { Tickets } from './core/tickets.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { EdgeParts } from './edge.ts'
import type { Drivers } from './host-drivers.ts'

/** What requests are answered from. */
export interface HandlerParts extends DeploymentDeps {
  version: { version: string; commit: string | null }
  deployment: Deployment
  drivers: Drivers
  reconciler: Reconciler
  execs: Execs
  activity: BoxActivity
  supervisor: ServiceSupervisor
  edge: Pick<EdgeParts, 'routes' | 'address'>
  forks: Forks
  jobs: Jobs
  backups: BackupParts
  feed: EventFeed
  logStreams: LogStreams
  trail: AuditTrail
  tickets: Tickets
  /** The origin at which tickets are good. */
  dataUrl: string
  health(): Promise<Health>
}
