import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll } from '@jest/globals'
import { build } from 'esbuild'

/** A page with its own origin and one script. */
export interface ScriptPage {
  /** Starts to listen and returns the origin. */
  open(): Promise<string>
  origin(): string
  /** Bundles a compiled module of a directory as the page's script, replaces expressions in it, and returns it. */
  setScript(directory: string, module: string, replaced?: Record<string, string>): Promise<string>
}

/** Serves a page to browsers of the calling test file. The script's exports are `app` there. */
export function useScriptPage(): ScriptPage {
  let script = ''
  let origin = ''
  const server: Server = createServer((incoming, outgoing) => {
    const isScript = incoming.url === '/app.js'
    outgoing.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    outgoing.end(isScript ? script : '<title>App</title><script src="/app.js"></script>')
  })
  afterAll(() => {
    server.close()
  })
  return {
    open: async () => {
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve)
      })
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return origin
    },
    origin: () => origin,
    setScript: async (directory, module, replaced = {}) => {
      const { outputFiles } = await build({
        entryPoints: [join(directory, `${module}.js`)],
        bundle: true,
        write: false,
        platform: 'browser',
        format: 'iife',
        globalName: 'app',
        define: replaced,
      })
      script = outputFiles[0]?.text ?? ''
      return script
    },
  }
}
