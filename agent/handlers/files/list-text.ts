import { timestamp } from '../../../shared/time.ts'
import type { FileEntry } from '../../ports/files/files.ts'
import { formatPath } from './paths.ts'
import { formatMode } from './view.ts'

/** Builds the JSON text of a listing. Keeping thousands of entry objects alive would cost more than everything else in the request. */
export interface ListText {
  add(entries: Iterable<FileEntry>): void
  /** Returns the whole text, with the fields of `more` after the list. */
  end(more: object): Uint8Array
}

/** Creates a list without entries. */
export function createListText(): ListText {
  const pieces: Buffer[] = []
  const formatTime = createTimes()
  let text = '{"files":['
  let separator = ''
  const cut = (): void => {
    pieces.push(Buffer.from(text))
    text = ''
  }
  return {
    add: (entries) => {
      for (const entry of entries) {
        text += separator
        text += entryText(entry, formatTime(entry.modifiedAt))
        separator = ','
        if (text.length >= PIECE_CHARACTERS) cut()
      }
    },
    end: (more) => {
      text += `],${JSON.stringify(more).slice(1)}`
      cut()
      return Buffer.concat(pieces)
    },
  }
}

/** Formats the JSON of an entry, with the fields of `viewFile`. */
function entryText({ path, kind, sizeBytes, mode, uid, gid, target, etag }: FileEntry, modifiedAt: string): string {
  const head = `${pathText(path)},"type":"${kind}","size_bytes":${sizeBytes},"mode":"${formatMode(mode)}"`
  const ownership = `"uid":${uid},"gid":${gid},"modified_at":"${modifiedAt}"`
  const linkTarget = target === null ? 'null' : JSON.stringify(formatPath(target).path)
  return `{${head},${ownership},"target":${linkTarget},"etag":${JSON.stringify(etag)}}`
}

function pathText(raw: string): string {
  if (PLAIN.test(raw)) return `"path":"${raw}","path_base64":null`
  const { path, path_base64 } = formatPath(Buffer.from(raw, 'latin1'))
  return `"path":${JSON.stringify(path)},"path_base64":${JSON.stringify(path_base64)}`
}

/** Formats times as `timestamp`. For a time in the same second as the last, it takes a tenth of the time. */
function createTimes(): (ms: number) => string {
  let second = Number.NaN
  let text = ''
  return (ms) => {
    const wholeSecond = Math.floor(ms / 1000)
    if (wholeSecond !== second) {
      second = wholeSecond
      text = timestamp(wholeSecond * 1000).slice(0, -4)
    }
    return `${text}${String(ms - wholeSecond * 1000).padStart(3, '0')}Z`
  }
}

/** Text that JSON needs not escape. */
const PLAIN = /^[ !#-[\]-~]*$/
const PIECE_CHARACTERS = 64 * 1024
