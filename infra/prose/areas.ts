import { passagesOfMarkdown } from './markdown.ts'
import type { Passage } from './passage.ts'
import { passagesOfTypeScript } from './typescript.ts'

/** Prose of a file that shares a budget: a page, or the comments, strings or names of a folder. */
export interface AreaPassages {
  area: string
  passages: Passage[]
}

/** Returns whether a file has prose of ours. */
export function hasProse(file: string): boolean {
  return /\.(?:md|tsx?|mjs)$/.test(file) && !/(?:^|\/)generated\/|^tests\/fixtures\//.test(file)
}

/** Returns the prose of a file by the areas that it counts for. */
export function readProse(file: string, source: string): AreaPassages[] {
  if (file.endsWith('.md')) return [{ area: file, passages: passagesOfMarkdown(source) }]
  const folder = file.split('/').slice(0, -1).slice(0, 2).join('/') || '.'
  const passages = passagesOfTypeScript(file, source, SPEAKING.test(file))
  const ofKind = (kind: Passage['kind']): Passage[] => passages.filter((each) => each.kind === kind)
  return [
    { area: folder, passages: ofKind('comment') },
    { area: `${folder} names`, passages: ofKind('name') },
    { area: `${folder} strings`, passages: ofKind('string') },
  ]
}

/** Code whose strings people read. Strings of tests and tools are mostly input. */
const SPEAKING = /^(?:agent|cli|functions|shared|sdk|web\/src)\//
