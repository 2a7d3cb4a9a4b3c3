import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, ConnectionError } from '../../sdk/typescript/src/api-error.ts'
import { absolutePathIn, requireRemotePath } from '../files/remote-path.ts'
import { LeftOut } from '../files/special-files.ts'
import { createSync, type Sync, type SyncOptions, type SyncResult } from '../files/syncing.ts'
import { UsageError } from '../output/failures.ts'
import { createMeter, formatBytes } from '../output/meter.ts'
import { printAnswer } from '../output/printing.ts'
import { reportLine } from '../output/terminal.ts'
import type { Verb, VerbContext } from './verb.ts'

const sync: Verb = {
  words: 'sync',
  args: '<dir> <box:dir>',
  flags: [
    ['-w, --watch', 'keep running, and send changes as they happen, until Ctrl-C'],
    ['--delete', 'delete files in the box that do not exist here'],
    ['--exclude <pattern...>', 'exclude these, with the rules of .gitignore (a .boxyardignore in DIR does the same)'],
    ['--checksum', 'also compare the contents of files with the same size and time'],
    ['-n, --dry-run', 'print the changes, and make none'],
  ],
  summary: 'Sync a local directory to a box. Sends only what differs, as one archive',
  details: `Two files count as the same if their size, time and mode match. New files belong to the owner of the directory in the box.
sync skips devices, FIFOs and sockets, and lists them. It deletes nothing without --delete, and excluded files never.
-o name prints the paths, -o json all fields.`,
  examples: [
    'boxyard sync . web:/srv/app --exclude node_modules --exclude .git',
    'boxyard sync site web:/srv/site --delete --watch',
    'boxyard sync . web:app --delete --dry-run -o name',
  ],
  operations: ['listFiles', 'statFile', 'makeDirectory', 'writeArchive', 'readArchive', 'deleteFile'],
  run: async (context, [from = '', given = ''], flags) => {
    if (statSync(from, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new UsageError(`${from} is not a directory on this machine.`)
    const remote = requireRemotePath(given)
    const box = context.boxyard.box(context.project(), remote.box)
    const to = (await absolutePathIn(box, remote.path)).replace(/(?<=.)\/+$/, '')
    const patterns = Array.isArray(flags['exclude']) ? flags['exclude'] : []
    const { exclusionOf } = await import('../files/exclusions.ts')
    const leftOut = new LeftOut()
    const options: Omit<SyncOptions, 'onBytes'> = {
      boxyard: context.boxyard,
      ...{ box, from, to },
      removes: flags['delete'] === true,
      isExcluded: exclusionOf(from, patterns),
      comparesContent: flags['checksum'] === true,
      isTrial: flags['dryRun'] === true,
      onLeftOut: (path, kind) => leftOut.add(path, kind),
    }
    if (flags['watch'] === true) return follow(context, options, leftOut)
    const meter = createMeter(from, null)
    const rounds = createSync({ ...options, onBytes: meter.add })
    if (!(await tellRound(context, options, rounds).finally(meter.end))) reportLine('Nothing to sync.')
    leftOut.report()
  },
}

/** The command that synchronizes directories. */
export const SYNC_VERBS: readonly Verb[] = [sync]

async function follow(context: VerbContext, options: Omit<SyncOptions, 'onBytes'>, leftOut: LeftOut): Promise<void> {
  const { watchChanges } = await import('../files/changes.ts')
  const rounds = createSync({ ...options, onBytes: () => undefined })
  // The first round needs no watch. The next one finds what changed before the watch began.
  await tellRound(context, options, rounds)
  leftOut.report()
  const changes = await watchChanges(options.from, options.isExcluded)
  reportLine(`Watching ${options.from}. Press Ctrl-C to stop.`)
  for (;;) {
    try {
      await tellRound(context, options, rounds)
    } catch (error) {
      const isAway = error instanceof ConnectionError || (error instanceof ApiError && error.retryable)
      if (!isAway && (error instanceof ApiError || error instanceof UsageError)) throw error
      reportLine(`boxyard: ${error instanceof Error ? error.message : String(error)}`)
      if (isAway) {
        await pause(RETRY_MS)
        continue
      }
    }
    await changes.next()
  }
}

/** Runs a round and reports it. Returns false if there was nothing to do. */
async function tellRound(
  { format }: VerbContext,
  { isTrial }: Pick<SyncOptions, 'isTrial'>,
  rounds: Sync,
): Promise<boolean> {
  const begun = performance.now()
  const result = await rounds.round()
  if (format === 'name') await printAnswer([...result.sent, ...result.deleted], format)
  else if (format !== 'table') await printAnswer(result, format)
  const line = resultLine(result, isTrial)
  if (line !== null) reportLine(`${line} (${Math.round(performance.now() - begun)} ms)`)
  return line !== null
}

/** Describes in a line what a round did, or returns null for nothing. A pure function. */
export function resultLine({ sent, deleted, bytes }: SyncResult, isTrial: boolean): string | null {
  const name = (paths: readonly string[]): string => (paths.length === 1 ? String(paths[0]) : `${paths.length} entries`)
  const parts = [
    ...(sent.length === 0 ? [] : [`${isTrial ? 'would send' : 'sent'} ${name(sent)}, ${formatBytes(bytes)}`]),
    ...(deleted.length === 0 ? [] : [`${isTrial ? 'would delete' : 'deleted'} ${name(deleted)}`]),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}

const RETRY_MS = 1000
