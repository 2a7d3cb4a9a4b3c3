import type { Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { UsageError } from '../output/failures.ts'

/** Tells whether a text begins with the id of a box, as `box_…:/etc` and `box_…@good` do as well. A pure function. */
export function hasBoxId(text: string): boolean {
  return BOX_ID.test(text)
}

/** Puts the name of a box, which the API takes, where a text has its id at the beginning. @throws UsageError if it is of no box of the project */
export async function withBoxName(boxyard: Boxyard, project: string, text: string): Promise<string> {
  const [id = ''] = BOX_ID.exec(text) ?? []
  for await (const box of boxyard.list('listBoxes', { path: { project } }))
    if (box.id === id) return `${box.name}${text.slice(id.length)}`
  throw new UsageError(`Project "${project}" has no box with the id ${id}.`)
}

const BOX_ID = /^box_[0-9a-z]{26}(?=$|[:@])/
