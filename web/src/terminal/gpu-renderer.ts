import type { Terminal } from '@xterm/xterm'

/**
 * Draws a terminal with the GPU, which takes less than half of the time of page elements. Uses elements if the browser would emulate a GPU,
 * has lost it, or cannot load the renderer's file.
 */
export async function drawByGpu(terminal: Terminal): Promise<void> {
  if (!hasGpu()) return
  try {
    const { WebglAddon } = await import('@xterm/addon-webgl')
    // It may be closed by then.
    if (!terminal.element?.isConnected) return
    const renderer = new WebglAddon()
    renderer.onContextLoss(() => renderer.dispose())
    terminal.loadAddon(renderer)
  } catch {
    // The terminal draws with elements again.
  }
}

function hasGpu(): boolean {
  const context = document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true })
  if (context === null) return false
  const info = context.getExtension('WEBGL_debug_renderer_info')
  const name: unknown = context.getParameter(info?.UNMASKED_RENDERER_WEBGL ?? context.RENDERER)
  // Browsers keep few contexts at once.
  context.getExtension('WEBGL_lose_context')?.loseContext()
  return !EMULATED.test(String(name))
}

/** Renderers that use the CPU. Not every browser reports them as a caveat. */
const EMULATED = /swiftshader|llvmpipe|softpipe|software|basic render/i
