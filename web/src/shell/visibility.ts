import { useEffect, useState } from 'react'

/**
 * Returns false once the tab was out of sight for half a minute. A browser has six connections to a host for all its tabs, so a hidden tab
 * keeps none.
 */
export function useIsInSight(): boolean {
  const [isInSight, setInSight] = useState(!document.hidden)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const onChange = (): void => {
      clearTimeout(timer)
      if (document.hidden) timer = setTimeout(() => setInSight(false), GRACE_MS)
      else setInSight(true)
    }
    document.addEventListener('visibilitychange', onChange)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onChange)
    }
  }, [])
  return isInSight
}

const GRACE_MS = 30_000
