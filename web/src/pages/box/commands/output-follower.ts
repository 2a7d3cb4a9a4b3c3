import type { OutputPiece } from '@boxyard/sdk'
import { isForGood, type Patience } from '../../../api/patience.ts'
import { createOutputFeed } from './output-feed.ts'
import type { OutputLog } from './output-log.ts'

/** Receives output while it is followed. */
export interface OutputTaker extends Patience {
  take(piece: OutputPiece): Promise<void>
  /** Drops the earlier output, because the next output does not directly follow it. */
  cut(): void
}

/** Follows output from its last offset until it ends. @throws ApiError, the reason of the signal */
export type OutputSource = (taker: OutputTaker) => Promise<void>

/** State of followed output. */
export interface FollowedOutput {
  log: OutputLog
  /** Whether it is reconnecting. */
  isLost: boolean
  /** Why it is no longer followed. Null while it is, and after its end. */
  error: unknown
}

/** Output that is followed at times, and resumes at its offset. */
export interface OutputFollower {
  readonly now: FollowedOutput
  /** Follows until `signal` aborts, and resolves with true if the output has ended. */
  follow(tell: (now: FollowedOutput) => void, signal: AbortSignal): Promise<boolean>
}

/** Creates a follower of the output after `start`. */
export function createOutputFollower(start: OutputLog, source: OutputSource): OutputFollower {
  let now: FollowedOutput = { log: start, isLost: false, error: null }
  let tell = (_now: FollowedOutput): void => undefined
  const change = (part: Partial<FollowedOutput>): void => {
    now = { ...now, ...part }
    tell(now)
  }
  const feed = createOutputFeed(start, (log) => change({ log }))
  return {
    get now() {
      return now
    },
    follow: async (listener, signal) => {
      tell = (value) => signal.aborted || listener(value)
      const onLost = (isLost: boolean): void => {
        if (isLost !== now.isLost) change({ isLost })
      }
      try {
        await source({ take: feed.take, cut: feed.cut, onLost, signal })
        feed.end()
        return !signal.aborted
      } catch (error) {
        if (!signal.aborted) change({ error, isLost: false })
        return isForGood(error)
      }
    },
  }
}
