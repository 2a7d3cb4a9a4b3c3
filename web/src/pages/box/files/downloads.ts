import { download } from '../../../api/transfers.ts'
import { nameOfPlace } from './place.ts'
import { type FilesAt, readQueryOf } from './queries.ts'

/** Makes the browser download a file. */
export async function downloadFile(at: FilesAt): Promise<void> {
  await download(at.box, { operation: 'readFile', query: readQueryOf(at), fileName: nameOfPlace(at.place) })
}

/** Makes the browser download a tar of a path. */
export async function downloadTar(at: FilesAt): Promise<void> {
  const fileName = `${nameOfPlace(at.place).replaceAll('/', at.box.name)}.tar`
  await download(at.box, { operation: 'readArchive', query: readQueryOf(at), fileName })
}
