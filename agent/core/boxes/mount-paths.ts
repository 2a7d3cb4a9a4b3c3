import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'

/**
 * Refuses a path at which no data volume may be mounted (docs/api.md#data-volumes).
 * @throws ServiceError `path_invalid`
 */
export function checkMountPath(path: string): void {
  const [, ...segments] = path.split('/')
  if (path === '/') throw invalid(path, 'a volume cannot replace the root')
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    throw invalid(path, 'it must be normalised: without "//", "." , ".." or a "/" at its end')
  if (segments.some((segment) => new TextEncoder().encode(segment).length > 255))
    throw invalid(path, 'a name in it is longer than 255 bytes')
  if (KERNEL_TREES.includes(segments[0] ?? '')) throw invalid(path, `/${segments[0]} belongs to the system`)
}

/**
 * Refuses a path that a mount of the box has, or that would hide one.
 * @throws ServiceError `mount_path_taken`
 */
export function checkPathIsFree(path: string, mounts: readonly { name: string; path: string }[]): void {
  for (const mount of mounts) {
    if (mount.path === path) throw taken(`"${mount.name}" is mounted at ${path} already.`)
    if (mount.path.startsWith(`${path}/`))
      throw taken(`A volume at ${path} would hide "${mount.name}" at ${mount.path}.`)
  }
}

function invalid(path: string, why: string): ServiceError {
  return new ServiceError('path_invalid', `${path}: ${why}.`)
}

function taken(why: string): ServiceError {
  return refusal('mount_path_taken', [why, 'Choose another path, or detach that volume.'])
}

const KERNEL_TREES = ['proc', 'sys', 'dev']
