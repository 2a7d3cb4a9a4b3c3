import { useSyncExternalStore } from 'react'

/** Returns the height, in pixels, of an on-screen keyboard that covers the page without making it smaller, as on iOS. */
export function useKeyboardHeight(): number {
  return useSyncExternalStore(watch, keyboardHeight)
}

function watch(listener: () => void): () => void {
  visualViewport?.addEventListener('resize', listener)
  return () => visualViewport?.removeEventListener('resize', listener)
}

function keyboardHeight(): number {
  const { visualViewport: sight } = window
  // A zoomed page is also only partly visible.
  if (sight === null || sight.scale !== 1) return 0
  const hiddenPx = window.innerHeight - sight.height
  return hiddenPx > LEAST_PX ? Math.round(hiddenPx) : 0
}

/** Anything lower is a bar of the browser. */
const LEAST_PX = 100
