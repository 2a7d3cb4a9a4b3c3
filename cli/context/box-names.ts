import type { Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { UsageError } from '../output/failures.ts'

/** Returns whether a text begins with the id of a box, as `box_…:/etc` and `box_…@good` also do. A pure function. */
export function hasBoxId(text: string): boolean {
  return BOX_ID.test(text)
}

/**
 * Replaces a box id at the beginning of a text with the box's name, which the API takes.
 * @throws UsageError if no box of the project has the id
 */
export async function withBoxName(boxyard: Boxyard, project: string, text: string): Promise<string> {
  const [id = ''] = BOX_ID.exec(text) ?? []
  for await (const box of boxyard.list('listBoxes', { path: { project } }))
    if (box.id === id) return `${box.name}${text.slice(id.length)}`
  throw new UsageError(`Project "${project}" has no box with the id ${id}.`)
}

const BOX_ID = /^box_[0-9a-z]{26}(?=$|[:@])/
