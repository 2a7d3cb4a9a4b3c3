import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from '@jest/globals'
import { build } from 'esbuild'
import { ROOT } from '../../../infra/commands.ts'
import { makeAgentTools, testLoop } from '../../helpers/clients/agent-loop.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const used = useSharedService()
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-loop-'))
  const sdk = join(directory, 'node_modules/@boxyard/sdk')
  await build({
    entryPoints: [join(ROOT, 'sdk/typescript/src/index.ts')],
    outfile: join(sdk, 'index.js'),
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'es2022', logLevel: 'warning' },
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
  })
  writeFileSync(join(sdk, 'package.json'), '{ "name": "@boxyard/sdk", "type": "module", "exports": "./index.js" }\n')
  await makeAgentTools(used)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe('the loop in TypeScript', () => {
  testLoop(used, {
    file: 'agent.mts',
    save: (text) => {
      writeFileSync(join(directory, 'agent.mts'), text)
      return [process.execPath, join(directory, 'agent.mts')]
    },
    env: () => ({ PATH: process.env['PATH'], HOME: directory, NO_COLOR: '1' }),
  })
})
