import type { Project, Quota } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import type { ProjectState, QuotaState } from '../../core/access/quotas.ts'
import { viewBounds } from '../common/bounds.ts'

/** Returns the quota in the form of the API. */
export function viewQuota({ project, allowed, used, updatedAt }: QuotaState): Quota {
  return {
    project,
    allowed: viewBounds(allowed),
    used: { boxes: used.boxes, cpus: used.cpus, ram_mb: used.ramMb, storage_gb: used.storageGb },
    updated_at: updatedAt === null ? null : timestamp(updatedAt),
  }
}

/** Returns a project in the form of the API. */
export function viewProject(project: ProjectState): Project {
  return { ...viewQuota(project), boxes: { ...project.boxes }, volumes: project.used.volumes }
}
