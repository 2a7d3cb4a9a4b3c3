import { useEffect, useState } from 'react'
import { useIsInSight } from '../../../shell/visibility.ts'
import type { FollowedOutput, OutputFollower } from './output-follower.ts'

/** Follows output while its page is in sight. A hidden tab keeps no connection. Calls `onEnd` once the output has ended. */
export function useOutput(follower: OutputFollower, onEnd?: () => void): FollowedOutput {
  const isInSight = useIsInSight()
  const [told, setTold] = useState<{ of: OutputFollower; now: FollowedOutput } | null>(null)
  useEffect(() => {
    if (!isInSight) return undefined
    const stop = new AbortController()
    const follow = async (): Promise<void> => {
      const hasEnded = await follower.follow((now) => setTold({ of: follower, now }), stop.signal)
      if (hasEnded) onEnd?.()
    }
    void follow()
    return () => stop.abort()
  }, [follower, isInSight, onEnd])
  return told?.of === follower ? told.now : follower.now
}
