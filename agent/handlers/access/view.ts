import type * as z from 'zod'
import type { meSchema, Project, Quota } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import type { ProjectState, QuotaState } from '../../core/access/quotas.ts'
import type { Caller } from '../../core/common/caller.ts'
import type { TokenRecord } from '../../ports/store/tokens.ts'
import { viewBounds } from '../common/bounds.ts'

/** Returns the rights of a token in the form of the API, and the token that created it if it is a session. */
export function viewMe(
  token: Pick<Caller, 'tokenId' | 'tokenName' | 'projects' | 'permissions' | 'expiresAt'>,
  stoodFor: Pick<TokenRecord, 'id' | 'name' | 'expiresAt'> | null,
): z.infer<typeof meSchema> {
  return {
    id: token.tokenId,
    name: token.tokenName,
    projects: token.projects === '*' ? '*' : [...token.projects],
    permissions: [...token.permissions],
    expires_at: endOf(token),
    on_behalf_of: stoodFor === null ? null : { id: stoodFor.id, name: stoodFor.name, expires_at: endOf(stoodFor) },
  }
}

/** Returns the quota in the form of the API. */
export function viewQuota({ project, allowed, used, storedBytes, updatedAt }: QuotaState): Quota {
  const { boxes, cpus, ramMb } = used
  // The quota bounds both, so the larger one counts against it.
  const storageGb = Math.max(used.storageGb, storedBytes / 1024 ** 3)
  return {
    project,
    allowed: viewBounds(allowed),
    used: { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb, stored_bytes: storedBytes },
    updated_at: updatedAt === null ? null : timestamp(updatedAt),
  }
}

/** Returns a project in the form of the API. */
export function viewProject(project: ProjectState): Project {
  return { ...viewQuota(project), boxes: { ...project.boxes }, volumes: project.used.volumes }
}

function endOf({ expiresAt }: { expiresAt: number | null }): string | null {
  return expiresAt === null ? null : timestamp(expiresAt)
}
