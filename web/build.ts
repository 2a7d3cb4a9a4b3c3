import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { build } from 'vite'

/** Builds the console into a recreated directory: `node web/build.ts DIRECTORY`. */
async function main(outDir: string): Promise<void> {
  const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  await build({
    root: here('.'),
    configFile: false,
    logLevel: 'warn',
    plugins: [react(), tailwindcss()],
    resolve: {
      alias: { '@boxyard/sdk': here('../sdk/typescript/src/index.ts') },
      // Resolves the SDK's imports here, even if the packages of the repository are not installed.
      dedupe: ['openapi-fetch', 'ws'],
    },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      // The policy of its pages allows no inline content, so small files stay files.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // The program of the page is one file, above Vite's usual limit.
      chunkSizeWarningLimit: 1_000,
    },
  })
}

const [directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: node web/build.ts DIRECTORY')
await main(directory)
