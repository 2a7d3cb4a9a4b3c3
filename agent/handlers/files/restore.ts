import { isDeepStrictEqual } from 'node:util'
import { pathOf } from '../../core/files/paths.ts'
import { restoreFile } from '../../core/files/restores.ts'
import { viewFile } from '../../core/files/view.ts'
import type { Handlers } from '../common/call.ts'
import { changedMeanwhile, type FileHandlerDeps } from './files.ts'
import { filesPlaceOf, restorePlacesOf } from './places.ts'

/** Files of snapshots brought back, over HTTP. */
export function createFileRestoreHandlers({ files, ...deps }: FileHandlerDeps): Pick<Handlers, 'restoreFile'> {
  return {
    restoreFile: async (call) => {
      const { body } = call
      const path = pathOf({ text: body.path, base64: body.path_base64, pointer: '/path' })
      const { place, from } = await restorePlacesOf(deps, call, body.snapshot)
      const facts = await restoreFile({ ...deps, files }, { place, from }, path)
      // It may have taken a while: what was restored must be what the box has now.
      if (!isDeepStrictEqual(await filesPlaceOf(deps, call), place)) throw changedMeanwhile()
      return { body: viewFile(path, facts), etag: facts.etag }
    },
  }
}
