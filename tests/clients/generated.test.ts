import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openWorkbench, runTyped, type Workbench } from '../helpers/clients/generators.ts'
import { useSharedService } from '../helpers/own-service.ts'

const { service, client } = useSharedService()
const DOCUMENT = 'openapi.json'
let bench: Workbench

beforeAll(async () => {
  bench = openWorkbench()
  bench.write(DOCUMENT, JSON.stringify((await client.get('/openapi.json')).body))
})
afterAll(() => bench.close())

/** Output of each program, with a box it created, a command's output, a file's bytes, and an error code. */
const SEEN = ['running', null, 'hello\n', [0, 255, 10], 'box_not_found']

const OPENAPI_FETCH = `
import createClient from 'openapi-fetch'
import type { paths } from './schema'
const [, , baseUrl = '', token = ''] = process.argv
const api = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } })
const boxes = '/v1/projects/{project}/boxes'
const path = { project: 'typed', name: 'fetch' }
const made = await api.POST(boxes, { params: { path }, body: { name: path.name, config: { ram_mb: 64 } } })
const ran = await api.POST(\`\${boxes}/{name}/exec\`, { params: { path }, body: { command: ['echo', 'hello'] } })
const query = { path: '/root/bytes' }
const body = new Uint8Array([0, 255, 10]) as unknown as string
await api.PUT(\`\${boxes}/{name}/files/write\`, { params: { path, query }, headers: { 'content-type': 'application/octet-stream' }, body, bodySerializer: (bytes) => bytes })
const read = await api.GET(\`\${boxes}/{name}/files/read\`, { params: { path, query }, parseAs: 'arrayBuffer' })
const none = await api.GET(\`\${boxes}/{name}\`, { params: { path: { ...path, name: 'none' } } })
const lease: string | null | undefined = made.data?.lease_until
console.log(JSON.stringify([made.data?.status, lease, ran.data?.stdout, [...new Uint8Array(read.data ?? [])], none.error?.code]))
`

const HEY_API = `
import { createClient } from './hey/client'
import { createBox, createExec, getBox, listEvents, readFile, writeFile } from './hey'
const [, , baseUrl = '', token = ''] = process.argv
const api = createClient({ baseUrl, auth: token })
const path = { project: 'typed', name: 'hey' }
const made = await createBox({ client: api, path, body: { name: path.name, config: { ram_mb: 64 } } })
const ran = await createExec({ client: api, path, body: { command: ['echo', 'hello'] } })
const query = { path: '/root/bytes' }
await writeFile({ client: api, path, query, body: { content: 'AP8K', encoding: 'base64' }, throwOnError: true })
const read = await readFile({ client: api, path, query, parseAs: 'arrayBuffer' })
const none = await getBox({ client: api, path: { ...path, name: 'none' } })
const events = await listEvents({ client: api, path })
const first: string | undefined = events.data?.events[0]?.type
if (first !== 'box.created') throw new Error(String(first))
const lease: string | null | undefined = made.data?.lease_until
console.log(JSON.stringify([made.data?.status, lease, ran.data?.stdout, [...new Uint8Array(read.data as never)], none.error?.code]))
`

const PYTHON = `
import io, json, sys
from boxyard import AuthenticatedClient, models, types
from boxyard.api.boxes import create_box, get_box
from boxyard.api.exec_ import create_exec
from boxyard.api.files import read_file, write_archive, write_file

api = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
new = models.CreateBox(name="python", config=models.BoxConfigInput(ram_mb=64))
made = create_box.sync("typed", client=api, body=new)
ran = create_exec.sync("typed", "python", client=api, body=models.ExecRequest(command=["echo", "hello"]))
write_file.sync("typed", "python", client=api, path="/root/bytes", body=types.File(payload=io.BytesIO(b"\\x00\\xff\\n")))
read = read_file.sync_detailed("typed", "python", client=api, path="/root/bytes")
none = get_box.sync("typed", "none", client=api)
print(json.dumps([made.status.value, made.lease_until, ran.stdout, list(read.content), none.code.value]))
`

describe('a client that is made of the OpenAPI document', () => {
  test('by openapi-typescript compiles and works', async () => {
    const said = await bench.node('node_modules/openapi-typescript/bin/cli.js', DOCUMENT, '-o', 'schema.ts')
    expect(said).not.toMatch(COMPLAINTS)
    expect(await runTyped(bench, { name: 'fetched', text: OPENAPI_FETCH }, service())).toEqual(SEEN)
  })

  test('by @hey-api/openapi-ts compiles and works', async () => {
    const args = ['-i', DOCUMENT, '-o', 'hey', '--no-log-file']
    expect(await bench.node('node_modules/@hey-api/openapi-ts/bin/run.js', ...args)).not.toMatch(COMPLAINTS)
    expect(await runTyped(bench, { name: 'heyed', text: HEY_API }, service())).toEqual(SEEN)
  })

  test('by openapi-python-client has every operation, and works', async () => {
    const args = ['generate', '--path', DOCUMENT, '--meta', 'none', '--output-path', 'boxyard', '--fail-on-warning']
    expect(await bench.python('-m', 'openapi_python_client', ...args)).not.toMatch(COMPLAINTS)
    bench.write('program.py', PYTHON)
    const printed = await bench.python('program.py', service().url, service().adminToken)
    expect(JSON.parse(printed)).toEqual(SEEN)
  })
})

const COMPLAINTS = /warn|error|skip|unable|unsupported/i
