import type { Quota } from '../../../shared/schemas/access.ts'
import type { Bounds } from '../../core/common/admission.ts'

/** Returns bounds of a project in the form of the API. */
export function viewBounds({ boxes, cpus, ramMb, storageGb }: Bounds): Quota['allowed'] {
  return { boxes, cpus, ram_mb: ramMb, storage_gb: storageGb }
}
