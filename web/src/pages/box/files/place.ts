/** A path of a box, with its bytes as base64 if they are not UTF-8. */
export interface FilePlace {
  text: string
  base64: string | null
}

/** A path in an answer. */
interface PathView {
  path: string
  path_base64: string | null
}

/** Returns the path that an address names, by default `/`. */
export function placeOf({ path, path64 }: { path?: string; path64?: string }): FilePlace {
  if (path64 !== undefined) return placeOfBytes(fromBase64(path64))
  return { text: path?.startsWith('/') ? path : '/', base64: null }
}

/** Returns the path for an address. */
export function placeSearch({ text, base64 }: FilePlace): { path: string } | { path64: string } {
  return base64 === null ? { path: text } : { path64: base64 }
}

/** Returns the path for a request. */
export function placeQuery({ text, base64 }: FilePlace): { path: string } | { path_base64: string } {
  return base64 === null ? { path: text } : { path_base64: base64 }
}

/** Returns the path in an answer. */
export function placeOfView({ path, path_base64: base64 }: PathView): FilePlace {
  return { text: path, base64 }
}

/** Returns the path of an entry of a directory. */
export function childOf(place: FilePlace, entry: PathView): FilePlace {
  const bytes = entry.path_base64 === null ? toBytes(entry.path) : fromBase64(entry.path_base64)
  return placeOfBytes(`${bytesOf(place).replace(/\/+$/, '')}/${bytes}`)
}

/** Returns the parent directories of a path, from `/` on, and the path itself. */
export function parentsOf(place: FilePlace): FilePlace[] {
  const parts = bytesOf(place).split('/').filter(Boolean)
  const below = parts.map((_, index) => placeOfBytes(`/${parts.slice(0, index + 1).join('/')}`))
  return [{ text: '/', base64: null }, ...below]
}

/** Returns the directory that a path is in. */
export function parentOf(place: FilePlace): FilePlace {
  return parentsOf(place).at(-2) ?? { text: '/', base64: null }
}

/** Returns the last part of a path. */
export function nameOfPlace({ text }: FilePlace): string {
  return text.slice(text.lastIndexOf('/') + 1) || '/'
}

/** Returns the target of a symbolic link. It is absolute, or relative to the directory of the link. */
export function targetOf(link: FilePlace, target: string): FilePlace {
  const base = target.startsWith('/') ? [] : parentOf(link).text.split('/').filter(Boolean)
  for (const part of target.split('/')) {
    if (part === '..') base.pop()
    else if (part !== '' && part !== '.') base.push(part)
  }
  return { text: `/${base.join('/')}`, base64: null }
}

// Bytes are strings of characters up to 255 here.
function bytesOf({ text, base64 }: FilePlace): string {
  return base64 === null ? toBytes(text) : fromBase64(base64)
}

function toBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('')
}

function fromBase64(base64: string): string {
  return atob(base64.replaceAll('-', '+').replaceAll('_', '/'))
}

function placeOfBytes(bytes: string): FilePlace {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    Uint8Array.from(bytes, (char) => char.charCodeAt(0)),
  )
  return { text, base64: toBytes(text) === bytes ? null : btoa(bytes) }
}
