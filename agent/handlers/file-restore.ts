import { isDeepStrictEqual } from 'node:util'
import { pathOf } from '../core/file-paths.ts'
import { restoreFile } from '../core/file-restores.ts'
import { viewFile } from '../core/file-view.ts'
import type { Handlers } from './call.ts'
import { placeOf, restorePlacesOf } from './file-places.ts'
import { changedMeanwhile, type FileHandlerDeps } from './files.ts'

/** Files of snapshots brought back, over HTTP. */
export function createFileRestoreHandlers({ files, ...deps }: FileHandlerDeps): Pick<Handlers, 'restoreFile'> {
  return {
    restoreFile: async (call) => {
      const { body } = call
      const path = pathOf({ text: body.path, base64: body.path_base64, pointer: '/path' })
      const { place, from } = await restorePlacesOf(deps, call, body.snapshot)
      const facts = await restoreFile({ ...deps, files }, { place, from }, path)
      // It may have taken a while: what was restored must be what the box has now.
      if (!isDeepStrictEqual(await placeOf(deps, call), place)) throw changedMeanwhile()
      return { body: viewFile(path, facts), etag: facts.etag }
    },
  }
}
