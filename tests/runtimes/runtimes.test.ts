import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { installSdk, oldestNode, sdkRuntimes, type UserDirectory } from '../helpers/clients/installed-sdk.ts'
import { SDK_PROGRAM, SDK_PROGRAM_SEES } from '../helpers/clients/sdk-program.ts'
import { useSharedService } from '../helpers/own-service.ts'

const { service } = useSharedService()
let user: UserDirectory

const MAIN = `
import { tryOut } from './program.js'
const [, , url = '', token = '', name = ''] = process.argv
console.log(JSON.stringify(await tryOut(url, token, name)))
`

beforeAll(async () => {
  user = await installSdk()
  await user.compile({ program: SDK_PROGRAM, main: MAIN })
})
afterAll(() => user.close())

const arch = process.arch === 'arm64' ? { bun: 'aarch64', deno: 'arm64' } : { bun: 'x64', deno: 'x64' }
const installed = (path: string): string => join(sdkRuntimes(), 'node_modules', path)
const RUNTIMES: readonly [string, () => string[]][] = [
  ['Node.js 24', () => [process.execPath]],
  ['Node.js 20', () => [oldestNode()]],
  ['Bun', () => [installed(`@oven/bun-linux-${arch.bun}/bin/bun`)]],
  ['Deno', () => [installed(`@deno/linux-${arch.deno}-glibc/deno`), 'run', '--allow-all']],
]

describe('the packed SDK, installed into an empty directory', () => {
  test.each(RUNTIMES)('serves a program that was compiled with strict types on %s', async (runtime, command) => {
    const name = runtime.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
    const printed = await user.run(command(), 'main', service().url, service().adminToken, name)
    expect(JSON.parse(printed)).toEqual([...SDK_PROGRAM_SEES, 'exe_'])
  })

  test('refuses a program whose types are wrong', async () => {
    const wrong = SDK_PROGRAM.replace('{ name, config: { ram_mb: 64 } }', "{ name, config: { ram_mb: 'much' } }")
    await expect(user.compile({ wrong })).rejects.toThrow("Type 'string' is not assignable to type 'number'")
  })
})
