import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { openWorkbench, runTyped, type Workbench } from '../helpers/clients/generators.ts'
import { useSharedService } from '../helpers/own-service.ts'

const { service, client } = useSharedService()
const DOCUMENT = 'openapi.json'
let bench: Workbench

beforeAll(async () => {
  bench = openWorkbench(ROOT)
  bench.write(DOCUMENT, JSON.stringify((await client.get('/openapi.json')).body))
})
afterAll(() => bench.close())

/** Output of each program, with a box it created, a command's output, a file's bytes, and an error code. */
const SEEN = ['running', null, 'hello\n', [0, 255, 10], 'box_not_found']

const FETCH = `
import { BoxesApi, Configuration, ExecApi, FilesApi, ResponseError } from './fetch'
const [, , basePath = '', accessToken = ''] = process.argv
const configuration = new Configuration({ basePath, accessToken })
const [boxes, execs, files] = [new BoxesApi(configuration), new ExecApi(configuration), new FilesApi(configuration)]
const box = { project: 'typed', name: 'fetch' }
const made = await boxes.createBox({ project: 'typed', createBox: { name: box.name, config: { ram_mb: 64 } } })
const ran = await execs.createExec({ ...box, execRequest: { command: ['echo', 'hello'] } })
await files.writeFile({ ...box, path: '/root/bytes', body: new Blob([new Uint8Array([0, 255, 10])]) })
const read = new Uint8Array(await (await files.readFile({ ...box, path: '/root/bytes' })).arrayBuffer())
const none: ResponseError = await boxes.getBox({ ...box, name: 'none' }).catch((error) => error)
const { code } = (await none.response.json()) as { code: string }
console.log(JSON.stringify([made.status, made.lease_until, ran.stdout, [...read], code]))
`

const GO = `
package main

import ("context"; "encoding/base64"; "encoding/json"; "fmt"; "os"; boxyard "example.com/boxyard/client")

func must[T any](value T, answer any, err error) T { if err != nil { panic(err) }; return value }

func main() {
	configuration := boxyard.NewConfiguration()
	configuration.Servers = boxyard.ServerConfigurations{{URL: os.Args[1]}}
	api, as := boxyard.NewAPIClient(configuration), context.WithValue(context.Background(), boxyard.ContextAccessToken, os.Args[2])
	config := boxyard.NewBoxConfigInput()
	config.SetRamMb(64)
	made := must(api.BoxesAPI.CreateBox(as, "typed").CreateBox(boxyard.CreateBox{Name: "go", Config: config}).Execute())
	ran := must(api.ExecAPI.CreateExec(as, "typed", "go").ExecRequest(boxyard.ExecRequest{Command: []string{"echo", "hello"}}).Execute())
	// Its own writeFile, of bytes or of JSON, sends bytes as if they were JSON.
	written := boxyard.ExecRequest{Shell: boxyard.PtrString("printf '\\\\000\\\\377\\\\n' >/root/bytes")}
	must(api.ExecAPI.CreateExec(as, "typed", "go").ExecRequest(written).Execute())
	// It asks for JSON where an answer may be that or bytes.
	content := boxyard.FileContent{}
	file := must(api.FilesAPI.ReadFile(as, "typed", "go").Path("/root/bytes").Execute())
	if err := json.NewDecoder(file).Decode(&content); err != nil { panic(err) }
	read, _ := base64.StdEncoding.DecodeString(content.Content)
	_, _, err := api.BoxesAPI.GetBox(as, "typed", "none").Execute()
	problem := err.(*boxyard.GenericOpenAPIError).Model().(boxyard.Problem)
	bytes := []int{}
	for _, each := range read { bytes = append(bytes, int(each)) }
	out, _ := json.Marshal([]any{made.Status, made.LeaseUntil.Get(), ran.Stdout, bytes, problem.Code})
	fmt.Println(string(out))
}
`

/**
 * Messages that the generator prints for any OpenAPI 3.1 document with a reference, with problems in `application/problem+json` (RFC 9457),
 * or with names that Go reserves. `Range` is an HTTP header, `type` a filter of events.
 */
const SAID_ALWAYS = [
  'OpenAPI 3.1 support is still in beta.',
  'Failed to get the schema name: null',
  'No application/json content media type found in response.',
  'type (reserved word) cannot be used as',
  'range (reserved word) cannot be used as',
]

/** Go's own compiled standard library, shared by everything that this test compiles. */
const GO_CACHE = execFileSync('go', ['env', 'GOCACHE'], { encoding: 'utf8' }).trim()

async function generate(kind: string, output: string, ...more: string[]): Promise<string[]> {
  const args = [
    '-jar',
    process.env['TEST_OPENAPI_GENERATOR'] ?? '',
    'generate',
    '-i',
    DOCUMENT,
    '-g',
    kind,
    '-o',
    output,
  ]
  const said = await bench.run('java', ...args, ...more)
  return said
    .split('\n')
    .filter((line) => /WARN|ERROR/.test(line) && !SAID_ALWAYS.some((known) => line.includes(known)))
}

describe('a client that openapi-generator makes of the OpenAPI document', () => {
  test('for fetch compiles strictly and works', async () => {
    // The generator reads `additionalProperties: false` of OpenAPI 3.1 as true. It also sends fields under names that it derives from
    // theirs.
    expect(await generate('typescript-fetch', 'fetch', '-p', 'modelPropertyNaming=original')).toEqual([])
    expect(await runTyped(bench, { name: 'fetched', text: FETCH }, service())).toEqual(SEEN)
  })

  test('for Go compiles and works', async () => {
    const names = ['--git-host', 'example.com', '--git-user-id', 'boxyard', '--git-repo-id', 'client']
    expect(await generate('go', 'go', '-p', 'packageName=boxyard', ...names)).toEqual([])
    bench.write('go/program/main.go', GO)
    const [env = '', ...go] = [
      'env',
      `GOCACHE=${GO_CACHE}`,
      `GOPATH=${join(bench.directory, 'none')}`,
      'go',
      '-C',
      'go',
      'run',
      './program',
    ]
    expect(JSON.parse(await bench.run(env, ...go, service().url, service().adminToken))).toEqual(SEEN)
  })
})
