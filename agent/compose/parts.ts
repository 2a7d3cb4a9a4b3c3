import type { Health } from '../../shared/schemas/health.ts'
import type { Tickets } from '../core/access/tickets.ts'
import type { BoxActivity } from '../core/boxes/activity.ts'
import type { AuditTrail } from '../core/events/audit-trail.ts'
import type { EventFeed } from '../core/events/feed.ts'
import type { Execs } from '../core/exec/execs.ts'
import type { Jobs } from '../core/operations/jobs.ts'
import type { Reconciler } from '../core/reconcile/reconciler.ts'
import type { Forks } from '../core/services/forks.ts'
import type { LogStreams } from '../core/services/logs.ts'
import type { ServiceSupervisor } from '../core/services/supervisor.ts'
import type { BackupParts } from './backups.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { Drivers } from './drivers.ts'
import type { EdgeParts } from './edge.ts'

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
