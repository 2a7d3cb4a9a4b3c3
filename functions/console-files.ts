import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { KnownHosts } from '../shared/http/known-hosts.ts'
import {
  type HeaderMap,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  splitTarget,
} from '../shared/http/messages.ts'
import { NOSNIFF } from '../shared/http/nosniff.ts'
import { OPERATIONS } from '../shared/routes.ts'

/** How the front serves a file of the console: its media type, and how long clients may cache it. */
interface FileKind {
  type: string
  cacheControl: string
}

/** The built web console, in memory. The front serves only these files, whatever a path says. */
export interface ConsoleFiles {
  /** By path, such as `/assets/index-BxS3.js`. */
  byPath: ReadonlyMap<string, ConsoleFile>
  index: ConsoleFile
}

interface ConsoleFile extends FileKind {
  /** The plain file and the encodings that were built with it, shortest first. */
  forms: readonly { encoding: string | null; bytes: Buffer; etag: string }[]
}

/**
 * Reads the console that was built into `directory`. Null selects the console of this checkout, if it was built there.
 * @throws Error for a directory without `index.html`, or with far more than a console has
 */
export function readConsoleFiles(directory: string | null): ConsoleFiles | null {
  const root = directory ?? BUILT_HERE
  if (directory === null && !existsSync(join(root, INDEX))) return null
  const read = readTree(root)
  const byPath = new Map<string, ConsoleFile>()
  for (const [path, bytes] of read)
    if (!ENCODINGS.some(([end]) => path.endsWith(end))) byPath.set(path, fileOf(path, bytes, read))
  const index = byPath.get(`/${INDEX}`)
  if (index === undefined) throw noConsole(root, `a built console, with ${INDEX}`)
  return { byPath, index }
}

/** Returns how to serve the file of a path, such as `/assets/index-BxS3.js`. */
export function fileKind(path: string): FileKind {
  return {
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    // The names of assets contain a hash of their content.
    cacheControl: path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  }
}

/** The parts of the front that serve everything but the console. */
interface BesideConsole {
  /** Tests a `Host`. Unknown hosts get nothing of the console. */
  isKnown: KnownHosts
  /** Answers the API's paths, and unknown hosts. */
  handler: HttpHandler
}

/**
 * Serves the console before `handler`: files by their paths, and the page itself at every other path that a browser opens. The page finds
 * its own route from that path.
 */
export function serveConsole(files: ConsoleFiles | null, { isKnown, handler }: BesideConsole): HttpHandler {
  if (files === null) return handler
  return async (request) => {
    const file = isKnown(headerOf(request.headers, 'host')) ? findFile(files, request) : null
    return file === null ? handler(request) : answerFile(file, request)
  }
}

function findFile({ byPath, index }: ConsoleFiles, { method, target, headers }: HttpRequest): ConsoleFile | null {
  if (method !== 'GET' && method !== 'HEAD') return null
  const { pathname } = splitTarget(target)
  if (pathname === '/') return index
  if (API_PATHS.has(pathname.split('/', 2)[1] ?? '')) return null
  const file = byPath.get(pathname)
  if (file !== undefined) return file
  const isPage = (headerOf(headers, 'accept') ?? '').includes('text/html') && extname(pathname) === ''
  return isPage ? index : null
}

function answerFile(file: ConsoleFile, { headers }: HttpRequest): HttpResponse {
  const form = file.forms.find(({ encoding }) => encoding === null || takesEncoding(headers, encoding))
  if (form === undefined) throw new Error('a file has no form of its own')
  const { encoding, bytes, etag } = form
  const shared = {
    ...SECURITY_HEADERS,
    'content-security-policy': contentPolicy(headerOf(headers, 'host')),
    'cache-control': file.cacheControl,
    etag,
    ...(file.forms.length > 1 ? { vary: 'Accept-Encoding' } : {}),
  }
  const known = headerOf(headers, 'if-none-match')
    ?.split(',')
    .map((each) => each.trim().replace(/^W\//, ''))
  if (known?.some((each) => each === etag || each === '*')) return { status: 304, headers: shared, body: null }
  const content = { 'content-type': file.type, ...(encoding === null ? {} : { 'content-encoding': encoding }) }
  return { status: 200, headers: { ...shared, ...content }, body: bytes }
}

function takesEncoding(headers: HeaderMap, encoding: string): boolean {
  const taken = (headerOf(headers, 'accept-encoding') ?? '').toLowerCase().split(',')
  return taken.some((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim())
    return name === encoding && !parameters.some((one) => /^q=0(\.0*)?$/.test(one))
  })
}

/** Names the WebSockets of its own host, because `'self'` does not cover them in every browser. */
function contentPolicy(host: string | undefined): string {
  const sockets = host !== undefined && HOST.test(host) ? ` ws://${host} wss://${host}` : ''
  return CONTENT_POLICY.replace("connect-src 'self'", `connect-src 'self'${sockets}`)
}

/** Reads the files of a directory and its subdirectories, by their relative paths. Follows no links, not even to directories. */
function readTree(root: string): Map<string, Buffer> {
  const read = new Map<string, Buffer>()
  let size = 0
  const readBelow = (path: string): void => {
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      const below = `${path}/${entry.name}`
      if (entry.isDirectory()) readBelow(below)
      if (!entry.isFile()) continue
      const bytes = readFileSync(join(root, below))
      size += bytes.length
      if (read.size === FILES_MAX || size > BYTES_MAX)
        throw noConsole(root, `at most ${FILES_MAX} files of ${BYTES_MAX} bytes together`)
      read.set(below, bytes)
    }
  }
  readBelow('')
  return read
}

function noConsole(root: string, expected: string): Error {
  return new Error(`BOXYARD_CONSOLE_DIR=${JSON.stringify(root)}: expected ${expected}.`)
}

function fileOf(path: string, bytes: Buffer, read: ReadonlyMap<string, Buffer>): ConsoleFile {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const encoded = ENCODINGS.flatMap(([end, encoding]) => {
    const found = read.get(path + end)
    return found === undefined ? [] : [{ encoding, bytes: found, etag: `"${digest}-${encoding}"` }]
  })
  return { ...fileKind(path), forms: [...encoded, { encoding: null, bytes, etag: `"${digest}"` }] }
}

/** Directory in which `npm run up` builds it. */
const BUILT_HERE = join(import.meta.dirname, '../.build/console')
const INDEX = 'index.html'
const FILES_MAX = 2_000
const BYTES_MAX = 64 * 1024 * 1024
/** First segments of the API's paths, below which no page exists. Unknown paths there get the usual error. */
const API_PATHS: ReadonlySet<string> = new Set(OPERATIONS.map(({ path }) => path.split('/', 2)[1] ?? ''))
const ENCODINGS = [
  ['.br', 'br'],
  ['.gz', 'gzip'],
] as const
const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/i
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Terminals place their text by styles of elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  // Allows two versions of a service side by side, which are pages of boxes, of other origins, in frames without rights here.
  'frame-src http: https:',
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
const SECURITY_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  ...NOSNIFF,
}
