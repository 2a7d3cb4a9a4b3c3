import { useEffect, useState } from 'react'

/**
 * Lets a part of the page fill the whole screen. Esc still reaches the shell if the browser allows that (holding it leaves). If the browser
 * has no full screen, as on a phone, the part fills the window.
 */
export function useFullScreen(): { isFull: boolean; toggle(): void } {
  const [isFull, setFull] = useState(false)
  useEffect(() => {
    if (!isFull) return undefined
    const onChange = (): void => setFull(document.fullscreenElement !== null)
    const { keyboard } = navigator as NavigatorWithKeyboard
    void document.documentElement
      .requestFullscreen()
      .then(() => {
        document.addEventListener('fullscreenchange', onChange)
        return keyboard?.lock(['Escape'])
      })
      .catch(() => undefined)
    return () => {
      document.removeEventListener('fullscreenchange', onChange)
      keyboard?.unlock()
      if (document.fullscreenElement) void document.exitFullscreen().catch(() => undefined)
    }
  }, [isFull])
  return { isFull, toggle: () => setFull(!isFull) }
}

/** The Keyboard Lock API, which some browsers have. */
type NavigatorWithKeyboard = Navigator & { keyboard?: { lock(keys: string[]): Promise<void>; unlock(): void } }
