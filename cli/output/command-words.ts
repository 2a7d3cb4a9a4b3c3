import { OPERATIONS } from '../../sdk/typescript/src/generated/operations.ts'
import type { Verb } from '../verbs/verb.ts'

/**
 * Replaces words of the API in a message. A request in backticks, such as `GET …/data/{volume}`, becomes the command that sends it. A field
 * in backticks becomes its flag. `flagOf` returns a flag such as `--ram-mb`, or another text for a field without one. A pure function.
 */
export function inCommandWords(message: string, commands: readonly Verb[], flagOf: (field: string) => string): string {
  return message
    .replaceAll(REQUEST, (whole, method: string, path: string) => {
      const command = commandFor(method, path, commands)
      return command === undefined ? whole : `boxyard ${command.words}`
    })
    .replaceAll(FIELD, (whole, field: string) => {
      const flag = flagOf(field)
      return flag.startsWith('--') ? flag : whole
    })
}

/** Returns the command whose first operation is the request. A path that begins with `…` is the end of one. */
function commandFor(method: string, path: string, commands: readonly Verb[]): Verb | undefined {
  const [isEnd, wanted] = path.startsWith('…') ? [true, path.slice(1)] : [false, path]
  const matches = (found: string): boolean => (isEnd ? found.endsWith(plain(wanted)) : found === plain(wanted))
  return commands.find(({ operations: [first] }) => {
    const operation = first === undefined ? null : OPERATIONS[first]
    return operation?.method === method && matches(plain(operation.path))
  })
}

/** Returns a path without the names of its parameters. */
const plain = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}')

const REQUEST = /`(GET|PUT|POST|DELETE) ([^`\s]+)`/g
const FIELD = /`([a-z][a-z_]*)`/g
