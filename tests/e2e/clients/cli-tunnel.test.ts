import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useOwnService } from '../../helpers/own-service.ts'

// Simulates a tunnel that reaches only the front. Nothing listens at the data address.
const cli = useCommandLine(useOwnService(async () => ({ settings: { BOXYARD_DATA_URL: 'http://127.0.0.1:9' } })))

test('long files are copied by the front where the data address is not reached', async () => {
  const bytes = randomBytes(20_000_000)
  writeFileSync(join(cli.directory(), 'long'), bytes)
  await cli.run(['create', 'web'])
  expect(await cli.run(['cp', 'long', 'web:/root/long'])).toMatchObject({ code: 0, stderr: '' })
  expect(await cli.run(['cp', 'web:/root/long', 'back'])).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(join(cli.directory(), 'back')).equals(bytes)).toBe(true)
})
