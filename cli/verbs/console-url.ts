import { UsageError } from '../output/failures.ts'
import { printAnswer } from '../output/printing.ts'
import { printLine } from '../output/terminal.ts'
import type { Verb } from './verb.ts'

const consoleUrl: Verb = {
  words: 'console-url',
  args: '',
  flags: [],
  summary: 'Print a one-time link that signs a browser in to the web console (valid 10 minutes)',
  details: 'The browser gets the permissions of the token that created the link, for at most 7 days.',
  examples: ['boxyard console-url', 'boxyard console-url -o json'],
  operations: ['createSignInLink'],
  run: async ({ boxyard, connection, format }) => {
    const page = `${connection.url}/sign-in`
    const served = await fetch(page, { method: 'HEAD', headers: { accept: 'text/html' } })
    if (!served.ok) throw new UsageError(`${connection.url} does not serve a web console.`)
    const { ticket, expires_at } = await boxyard.call('createSignInLink', {})
    const url = `${page}#${ticket}`
    if (format === 'json' || format === 'yaml') await printAnswer({ url, expires_at }, format)
    else printLine(url)
  },
}

/** The command of the web console. */
export const CONSOLE_URL_VERBS: readonly Verb[] = [consoleUrl]
