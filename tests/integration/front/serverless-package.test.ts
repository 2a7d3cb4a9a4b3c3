import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { serverlessCommand } from '../../../infra/aws/serverless.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../..')
const directory = mkdtempSync(join(tmpdir(), 'serverless-package-'))

interface Template {
  Parameters: Record<string, { Type: string; Default: string }>
  Resources: Record<string, { Type: string; Condition?: string; Properties: Record<string, unknown> }>
}

let template: Template

beforeAll(async () => {
  await run(process.execPath, ['infra/build.ts'], { cwd: ROOT })
  const [program = '', ...args] = serverlessCommand('package', ['--stage', 'trial', '--package', directory])
  const env = { PATH: process.env.PATH, HOME: directory, BOXYARD_CHANNEL_KEYS: 's3cret', BOXYARD_TOKEN_KEYS: 's3cret' }
  await run(program, args, { cwd: ROOT, env })
  template = JSON.parse(readFileSync(join(directory, 'cloudformation-template-update-stack.json'), 'utf8')) as Template
})

afterAll(() => rmSync(directory, { recursive: true }))

describe('the package, made without credentials', () => {
  test('holds the bundle, what it loads late, and nothing else', async () => {
    const zip = readFileSync(join(directory, 'boxyard.zip'))
    const names = [...zip.toString('latin1').matchAll(/PK\x01\x02[\s\S]{42}([a-zA-Z0-9_./-]+?\.mjs)/g)].map(
      ([, name]) => name,
    )
    expect(names.sort()).toEqual(['dist/problem-types.mjs', 'dist/rest.mjs', 'dist/session.mjs'])
    expect(zip.readUInt16LE(zip.lastIndexOf('PK\x05\x06', undefined, 'latin1') + 10)).toBe(3)
  })

  test('has a bundle of at most 143 KB', () => {
    expect(statSync(join(ROOT, 'dist/rest.mjs')).size).toBeLessThanOrEqual(143_000)
  })

  test('is one function for every route of an HTTP API, on Node.js 24', () => {
    expect(template.Resources.RestLambdaFunction?.Properties).toMatchObject({
      Handler: 'dist/rest.handler',
      Runtime: 'nodejs24.x',
      Timeout: 29,
      Architectures: ['arm64'],
    })
    const routes = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::ApiGatewayV2::Route')
    expect(routes.map(({ Properties }) => Properties.RouteKey)).toEqual(['$default'])
  })

  test('takes keys from a version of the secret, and the rest from parameters of the stage', () => {
    const { Variables } = template.Resources.RestLambdaFunction?.Properties.Environment as { Variables: Variables }
    const reference = (field: string) => ({
      'Fn::Sub': `{{resolve:secretsmanager:boxyard/trial/keys:SecretString:${field}::\${KeysVersion}}}`,
    })
    expect(Variables).toMatchObject({
      BOXYARD_AGENT_URL: { Ref: 'AgentUrl' },
      BOXYARD_CHANNEL_KEYS: reference('channel_keys'),
      BOXYARD_TOKEN_KEYS: reference('token_keys'),
      BOXYARD_CHANNEL_KEY: { 'Fn::If': ['HasTls', reference('channel_key'), NOTHING] },
    })
    const types = Object.values(template.Parameters).map(({ Type, Default }) => [Type, Default.split('/').slice(0, 3)])
    expect(types).toEqual(types.map(() => ['AWS::SSM::Parameter::Value<String>', ['', 'boxyard', 'trial']]))
  })

  test('has no secret of the environment that it is made in', () => {
    const files = ['cloudformation-template-update-stack.json', 'serverless-state.json']
    for (const name of files) expect(readFileSync(join(directory, name), 'utf8')).not.toContain('s3cret')
  })

  test('stands in a network, answers other origins and has a host name only where the stage has those', () => {
    const { RestLambdaFunction, HttpApi, ApiDomain, ApiMapping, ApiRecord } = template.Resources
    expect(RestLambdaFunction?.Properties.VpcConfig).toMatchObject({
      'Fn::If': ['HasNetwork', { SubnetIds: { 'Fn::Split': [',', { Ref: 'SubnetIds' }] } }, NOTHING],
    })
    expect(HttpApi?.Properties.CorsConfiguration).toMatchObject({
      'Fn::If': ['HasCors', { AllowOrigins: { 'Fn::Split': [',', { Ref: 'CorsOrigins' }] } }, NOTHING],
    })
    expect([ApiDomain, ApiMapping, ApiRecord].map((one) => one?.Condition)).toEqual([
      'HasDomain',
      'HasDomain',
      'HasRecord',
    ])
    const { AlarmActions, OKActions } = template.Resources.ErrorsAlarm?.Properties ?? {}
    expect([AlarmActions, OKActions]).toEqual(
      [0, 1].map(() => ({ 'Fn::If': ['HasAlarmTopic', [{ Ref: 'AlarmTopicArn' }], NOTHING] })),
    )
  })

  test('lets the function write its own log, attaches it in a network, and does nothing else', () => {
    const roles = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::IAM::Role')
    expect(roles).toHaveLength(1)
    const properties = roles[0]?.Properties as { Policies: { 'Fn::If': [string, Policy[], Policy[]] } }
    expect(properties).not.toHaveProperty('ManagedPolicyArns')
    const [condition, inNetwork, outside] = properties.Policies['Fn::If']
    expect([condition, outside]).toEqual(['HasNetwork', inNetwork.slice(0, 1)])
    const [log, attach, deny] = inNetwork.flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
    expect(log?.Action).toEqual(['logs:CreateLogStream', 'logs:PutLogEvents'])
    expect(JSON.stringify(log?.Resource)).toContain(':log-group:/aws/lambda/boxyard-trial-rest:*')
    expect(attach?.Action.toString()).toMatch(/^(ec2:[A-Za-z]*(NetworkInterfaces?|Subnets|PrivateIpAddresses),?)+$/)
    expect(deny).toMatchObject({ Effect: 'Deny', Action: 'ec2:*' })
    expect(JSON.stringify(deny?.Condition)).toContain(':function:boxyard-trial-rest')
  })
})

const NOTHING = { Ref: 'AWS::NoValue' }
type Variables = Record<string, unknown>

interface Policy {
  PolicyDocument: { Statement: Statement[] }
}

interface Statement {
  Effect: string
  Action: string | string[]
  Resource: unknown
  Condition?: unknown
}
