import { setTimeout as delay } from 'node:timers/promises'
import { joinBackupKeys } from '../../shared/auth/keys.ts'
import type { Logger } from '../../shared/log.ts'
import type { SharedKeys } from '../drivers/fleet/shared-keys.ts'
import {
  changedKeys,
  type KeyChange,
  type KeyFiles,
  type KeyKind,
  readKeys,
  replaceKeys,
  type StoredKeys,
} from '../lib/disk/key-files.ts'

export interface FleetKeysDeps {
  dataDir: string
  files: Pick<KeyFiles, 'reload'>
  shared: SharedKeys
  logger: Logger
}

/** The keys of a fleet, with this cell's files as a copy that outlives any outage. */
export interface FleetKeys {
  /**
   * Copies the fleet's keys into the files. If the fleet has none, or only older ones, as after a restore of etcd, copies the files' keys
   * to the fleet. Returns whether the files have changed.
   * @throws ServiceError `runtime_unavailable`
   */
  exchange(): Promise<boolean>
  /**
   * Exchanges whenever the fleet's keys change, and calls `onTaken` after each change of the files since this was opened. Resolves once
   * it follows, or cannot now.
   */
  follow(onTaken: () => Promise<void>): Promise<void>
  /**
   * Changes the keys of the fleet, and then the files. A new key signs only after some seconds in which all cells have learnt to verify
   * it, unless it was prepared before.
   * @throws Error if others change the keys at the same time
   * @throws ServiceError `runtime_unavailable`
   */
  change(kind: KeyKind, change: KeyChange): Promise<void>
}

/** Opens the keys of a fleet for the cell of a data directory. */
export function openFleetKeys({ dataDir, files, shared, logger }: FleetKeysDeps): FleetKeys {
  const state = { isUntold: false }
  const take = (keys: StoredKeys): boolean => {
    const isChanged = replaceKeys(dataDir, keys)
    files.reload()
    if (isChanged) state.isUntold = true
    return isChanged
  }
  const exchange = async (): Promise<boolean> => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const [read, own] = [await shared.read(), readKeys(dataDir)]
      const given = keysToGive(read.keys, own)
      if (given === null) return take(read.keys ?? own)
      if (await shared.replace(read, given)) return take(given)
      // Cells that start at the same time each have a key to add.
      await delay(Math.random() * attempt * PAUSE_MS)
    }
    throw busy()
  }
  const write = async (kind: KeyKind, change: KeyChange): Promise<void> => {
    const read = await shared.read()
    if (read.keys === null) throw new Error('The fleet has no keys yet. Start one of its agents first.')
    const next = { ...changedKeys(read.keys, kind, change), generation: read.keys.generation + 1 }
    if (!(await shared.replace(read, next))) throw busy()
    take(next)
  }
  const isPrepared = (kind: KeyKind): boolean => {
    const { channel, tokens } = readKeys(dataDir)
    return (kind === 'channel' ? channel : tokens).keys.some(({ next }) => next)
  }
  return {
    exchange,
    follow: async (onTaken) => {
      const turns = createTurns(async () => {
        await exchange()
        if (!state.isUntold) return
        await onTaken()
        state.isUntold = false
        logger.info('applied new keys of the fleet')
      }, logger)
      await shared.follow(turns.take)
      await turns.ended()
    },
    change: async (kind, change) => {
      await exchange()
      if (change === 'rotate' && !isPrepared(kind)) {
        await write(kind, 'prepare')
        await delay(SPREAD_MS)
      }
      await write(kind, change)
    },
  }
}

/** Returns the new content of the fleet's Secret if it lacks any of this cell's keys. Null if it lacks none. */
function keysToGive(fleet: StoredKeys | null, own: StoredKeys): StoredKeys | null {
  if (fleet === null || fleet.generation < own.generation) {
    const backups = joinBackupKeys(fleet?.backups ?? { keys: [] }, own.backups)
    return { ...own, backups, generation: Math.max(1, own.generation) }
  }
  // Every cell verifies what any other has signed.
  const backups = joinBackupKeys(fleet.backups, own.backups)
  return backups === fleet.backups ? null : { ...fleet, backups }
}

/** Runs `work` once at a time. Merges calls that come while a run waits into that run. */
function createTurns(work: () => Promise<void>, logger: Logger): { take(): void; ended(): Promise<void> } {
  let turn: Promise<void> = Promise.resolve()
  let isWaiting = false
  const run = async (): Promise<void> => {
    isWaiting = false
    await work().catch((error: unknown) => logger.error('failed to apply new keys of the fleet', { error }))
  }
  return {
    take: () => {
      if (!isWaiting) turn = turn.then(run)
      isWaiting = true
    },
    ended: () => turn,
  }
}

function busy(): Error {
  return new Error('Another agent is changing the keys of the fleet. Try again.')
}

const ATTEMPTS_MAX = 32
const PAUSE_MS = 10
/** Agents follow the Secret at once, and fronts reload their files within 3 s. */
const SPREAD_MS = 5_000
