import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createClient } from '../helpers/front/client.ts'
import { freePort, startService, type TestService } from '../helpers/service.ts'
import { testNamesOnDebian } from './boxes/debian-names-suite.ts'
import { testWholeDebian } from './boxes/whole-debian-suite.ts'
import { SUBJECT_PAGES, testDocumentedCommands } from './docs-suite.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_BASE: 'debian', BOXYARD_EDGE_PORT: String(await freePort()) } })
})

afterAll(() => service.close())

testDocumentedCommands(() => service, SUBJECT_PAGES)
testWholeDebian(() => service)
testNamesOnDebian(() => service)

test('a user of a Debian box becomes root by su, as the box allows', async () => {
  const exec = (body: object) => client.post('/v1/projects/setuid/boxes/debian/exec', body)
  expect((await client.post('/v1/projects/setuid/boxes', { name: 'debian' })).status).toBe(201)
  await exec({ shell: 'useradd -m ann && passwd -d root' })
  expect((await exec({ shell: 'su -c "id -un" </dev/null', user: 'ann' })).body).toMatchObject({
    exit_code: 0,
    stdout: 'root\n',
  })
  await exec({ shell: 'passwd -l root' })
  expect((await exec({ shell: 'su -c id </dev/null', user: 'ann' })).body.exit_code).not.toBe(0)
})
