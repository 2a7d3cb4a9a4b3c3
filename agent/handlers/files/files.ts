import { ServiceError } from '../../../shared/errors.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import { decodePathCursor, encodePathCursor, foreignCursor } from '../../core/common/paging.ts'
import { restoreFile } from '../../core/files/restores.ts'
import { whileSameRoot } from '../../core/files/roots.ts'
import type { FilePath, Files, WriteOptions } from '../../ports/files/files.ts'
import type { Call, Handlers, Reply } from '../common/call.ts'
import { jsonOrRedirect, type RedirectDeps } from '../common/data-address-redirect.ts'
import { createListText } from './list-text.ts'
import { type GivenPath, pathOf } from './paths.ts'
import { type FilesRootDeps, filesRootOf, readRootOf, restoreRootsOf, writtenRootOf } from './roots.ts'
import { modeOf, viewFile, viewReport } from './view.ts'

type ChangeHandlers = Pick<
  Handlers,
  'writeFile' | 'statFile' | 'listFiles' | 'deleteFile' | 'moveFile' | 'makeDirectory' | 'restoreFile' | 'writeArchive'
>

export interface FileHandlerDeps extends RedirectDeps, FilesRootDeps {
  files: Files
}

/** Handles the operations on files of boxes, except those that read their content. */
export function createFileHandlers({ files, ...deps }: FileHandlerDeps): ChangeHandlers {
  return {
    writeFile: async (call) => {
      const { query, body, bytes } = call
      const path = writtenPath(call)
      const options: WriteOptions = {
        mode: modeOf(query.mode ?? body?.mode),
        parents: query.parents === undefined ? body?.parents === true : isYes(query.parents),
        ifMatch: ifMatchOf(call.ifMatch),
        ifNoneMatch: isNoneWanted(call.ifNoneMatch),
      }
      const written = await writtenRootOf(deps, call)
      const content = bytes === null ? contentOf(body) : whileSameRoot(bytes, written)
      const { facts } = await files.write(written.root, path, options, content)
      return { body: viewFile(path, facts), etag: facts.etag }
    },
    statFile: async (call) => {
      const path = queryPath(call.query)
      const facts = await files.stat(await readRootOf(deps, call), path)
      return { body: viewFile(path, facts), etag: facts.etag }
    },
    listFiles: async (call) => {
      const { query } = call
      const path = query.path === undefined && query.path_base64 === undefined ? ROOT : queryPath(query)
      const depth = query.depth ?? (query.recursive ? DEPTH_MAX : 1)
      const cursor = decodePathCursor(query.continuation_token)
      if (cursor !== null && cursor.word !== '') throw foreignCursor()
      const root = await readRootOf(deps, call)
      const text = createListText()
      const page = { depth, after: cursor?.path ?? null, limit: query.max_results, take: text.add }
      const next = await files.list(root, path, page)
      const token = next === null ? null : encodePathCursor(next)
      const more = { has_more: next !== null, next_continuation_token: token }
      return jsonOrRedirect(deps, { call, boxId: root.boxId }, text.end(more))
    },
    deleteFile: async (call) => {
      await files.remove(await filesRootOf(deps, call), queryPath(call.query), { recursive: call.query.recursive })
      return { body: null }
    },
    moveFile: async (call) => {
      const { body } = call
      const from = pathOf({ text: body.from, base64: body.from_base64, pointer: '/from' })
      const to = pathOf({ text: body.to, base64: body.to_base64, pointer: '/to' })
      const facts = await files.move(await filesRootOf(deps, call), from, to, { overwrite: body.overwrite === true })
      return { body: viewFile(to, facts) }
    },
    makeDirectory: async (call) => {
      const { body } = call
      const path = pathOf({ text: body.path, base64: body.path_base64, pointer: '/path' })
      const options = { mode: modeOf(body.mode), parents: body.parents === true }
      const { facts } = await files.makeDirectory(await filesRootOf(deps, call), path, options)
      return { body: viewFile(path, facts) }
    },
    restoreFile: (call) => restoreFromSnapshot({ ...deps, files }, call),
    writeArchive: async (call) => {
      const path = queryPath(call.query)
      const { bytes } = call
      if (bytes === null) throw new ServiceError('unsupported_media_type', 'The body must be application/x-tar.')
      const written = await writtenRootOf(deps, call)
      const report = await files.unpack(written.root, path, whileSameRoot(bytes, written))
      return { body: viewReport(report) }
    },
  }
}

async function restoreFromSnapshot(deps: FileHandlerDeps, call: Call<'restoreFile'>): Promise<Reply> {
  const { body } = call
  const path = pathOf({ text: body.path, base64: body.path_base64, pointer: '/path' })
  const facts = await restoreFile(deps, await restoreRootsOf(deps, call, body.snapshot), path)
  return { body: viewFile(path, facts), etag: facts.etag }
}

/** Returns the path that a query names. Throws `invalid_request` for none, or two. */
export function queryPath(query: { path?: string | undefined; path_base64?: string | undefined }): FilePath {
  return pathOf({ text: query.path, base64: query.path_base64, pointer: '/query/path' })
}

// Reads the path from the query, the body, or both if they agree.
function writtenPath({ query, body }: Call<'writeFile'>): FilePath {
  const candidates: GivenPath[] = [{ text: query.path, base64: query.path_base64, pointer: '/query/path' }]
  if (body !== undefined) candidates.push({ text: body.path, base64: body.path_base64, pointer: '/path' })
  const given = candidates.filter(({ text, base64 }) => text !== undefined || base64 !== undefined)
  const [path, other] = (given.length > 0 ? given : candidates.slice(-1)).map(pathOf)
  if (path !== undefined && (other === undefined || Buffer.compare(path, other) === 0)) return path
  throw invalidRequest([{ pointer: '/path', detail: 'differs from the query' }])
}

async function* contentOf(body: Call<'writeFile'>['body'] | undefined): AsyncGenerator<Uint8Array> {
  const text = body?.content ?? ''
  if (body?.encoding !== 'base64') yield Buffer.from(text, 'utf8')
  else if (BASE64.test(text)) yield Buffer.from(text, 'base64')
  else throw invalidRequest([{ pointer: '/content', detail: 'must be base64, because `encoding` is base64' }])
}

function ifMatchOf(header: string | null): WriteOptions['ifMatch'] {
  const tags = header?.split(',').map((tag) => tag.trim()) ?? null
  return tags?.includes('*') ? '*' : tags
}

function isNoneWanted(header: string | null): boolean {
  if (header === null) return false
  if (header.trim() === '*') return true
  throw invalidRequest([{ pointer: '/headers/if-none-match', detail: 'must be * where something is written' }])
}

function isYes(text: string): boolean {
  return text === 'true' || text === '1'
}

const ROOT = Buffer.from('/')
const DEPTH_MAX = 64
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
