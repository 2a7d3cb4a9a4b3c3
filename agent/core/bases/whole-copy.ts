import { newId } from '../../../shared/ids.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import { discardUncommitted } from '../common/create-record.ts'
import type { BaseCreateDeps } from './create.ts'

/** A copy of the subvolume `source` of `project` to a subvolume `name` of the deployment. */
export interface WholeCopy {
  source: string
  project: string
  name: string
}

/**
 * Copies the current state of a project's subvolume to a read-only one of the deployment that shares nothing with it. A snapshot would
 * leave its bytes on the account of the project, which could neither delete it nor say how long it stays. The caller has written a
 * tombstone for `name`.
 */
export async function copyWhole(
  deps: Pick<BaseCreateDeps, 'store' | 'filesystem' | 'clock' | 'reconciler'>,
  { source, project, name }: WholeCopy,
): Promise<void> {
  const { store, filesystem, clock } = deps
  const createdAt = clock.now()
  const [frozen, container] = [temporaryName(createdAt), temporaryName(createdAt)]
  const tombstones = [frozen, container].map((root) => ({ id: root, root, createdAt }))
  for (const tombstone of tombstones) await store.tombstones.insert(tombstone)
  try {
    await filesystem.snapshot({ source, name: frozen, project, isReadOnly: true, quotaBytes: null })
    const streams = streamOf(filesystem, frozen)
    await filesystem.receive({ container, name, project: null, quotaBytes: null, streams })
    await filesystem.setReadOnly(name, true)
  } finally {
    await discardUncommitted(deps, ...tombstones)
  }
}

async function* streamOf(filesystem: CowFilesystem, name: string): AsyncGenerator<AsyncIterable<Uint8Array>> {
  yield filesystem.send({ name, parent: null })
}

function temporaryName(createdAt: number): string {
  return newId('bas', createdAt).replace(/^bas/, 'tmp')
}
