import { timestamp } from '../../core/common/time.ts'
import type { FileEntry } from '../../ports/files/files.ts'
import { tellPath } from './paths.ts'
import { tellMode } from './view.ts'

/** The answer to a listing as it is sent: thousands of objects that live at once would cost more than all else of it. */
export interface ListText {
  add(entries: Iterable<FileEntry>): void
  /** All of it, with the fields that come behind the list. */
  end(more: object): Uint8Array
}

/** A list without entries. */
export function createListText(): ListText {
  const pieces: Buffer[] = []
  const tellTime = createTimes()
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
        text += entryText(entry, tellTime(entry.modifiedAt))
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

/** The JSON of what `viewFile` tells of it. */
function entryText({ path, kind, sizeBytes, mode, uid, gid, target, etag }: FileEntry, modifiedAt: string): string {
  const what = `${pathText(path)},"type":"${kind}","size_bytes":${sizeBytes},"mode":"${tellMode(mode)}"`
  const whose = `"uid":${uid},"gid":${gid},"modified_at":"${modifiedAt}"`
  const leadsTo = target === null ? 'null' : JSON.stringify(tellPath(target).path)
  return `{${what},${whose},"target":${leadsTo},"etag":${JSON.stringify(etag)}}`
}

function pathText(raw: string): string {
  if (PLAIN.test(raw)) return `"path":"${raw}","path_base64":null`
  const { path, path_base64 } = tellPath(Buffer.from(raw, 'latin1'))
  return `"path":${JSON.stringify(path)},"path_base64":${JSON.stringify(path_base64)}`
}

/** As `timestamp`, which for a time in the same second as the last takes a tenth as long. */
function createTimes(): (ms: number) => string {
  let second = Number.NaN
  let text = ''
  return (ms) => {
    const its = Math.floor(ms / 1000)
    if (its !== second) {
      second = its
      text = timestamp(its * 1000).slice(0, -4)
    }
    return `${text}${String(ms - its * 1000).padStart(3, '0')}Z`
  }
}

/** What JSON tells as it is. */
const PLAIN = /^[ !#-[\]-~]*$/
const PIECE_CHARACTERS = 64 * 1024
