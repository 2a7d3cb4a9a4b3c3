import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../..')
const directory = mkdtempSync(join(tmpdir(), 'serverless-package-'))

interface Template {
  Parameters: Record<string, { Type: string; Default: string }>
  Resources: Record<string, { Type: string; Properties: Record<string, unknown> }>
}

let template: Template

beforeAll(async () => {
  await run(process.execPath, ['infra/build.ts'], { cwd: ROOT })
  const serverless = join(ROOT, 'node_modules/serverless/bin/serverless.js')
  const env = { PATH: process.env.PATH, HOME: directory }
  await run(process.execPath, [serverless, 'package', '--stage', 'trial', '--package', directory], { cwd: ROOT, env })
  template = JSON.parse(readFileSync(join(directory, 'cloudformation-template-update-stack.json'), 'utf8')) as Template
})

afterAll(() => rmSync(directory, { recursive: true }))

describe('the package, made without credentials', () => {
  test('holds the bundle, what it loads late, and nothing else', async () => {
    const zip = readFileSync(join(directory, 'boxyard.zip'))
    const names = [...zip.toString('latin1').matchAll(/PK\x01\x02[\s\S]{42}([a-zA-Z0-9_./-]+?\.mjs)/g)].map(
      ([, name]) => name,
    )
    expect(names.sort()).toEqual(['dist/problem-types.mjs', 'dist/rest.mjs'])
    expect(zip.readUInt16LE(zip.lastIndexOf('PK\x05\x06', undefined, 'latin1') + 10)).toBe(2)
  })

  test('has a bundle of at most 130 KB', () => {
    expect(statSync(join(ROOT, 'dist/rest.mjs')).size).toBeLessThanOrEqual(130_000)
  })

  test('is one function for every route of an HTTP API, on Node.js 24', () => {
    expect(template.Resources.RestLambdaFunction?.Properties).toMatchObject({
      Handler: 'dist/rest.handler',
      Runtime: 'nodejs24.x',
      Timeout: 29,
    })
    const routes = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::ApiGatewayV2::Route')
    expect(routes.map(({ Properties }) => Properties.RouteKey)).toEqual(['$default'])
  })

  test('takes address, keys and network from the account it is deployed to', () => {
    expect(template.Resources.RestLambdaFunction?.Properties).toMatchObject({
      Environment: {
        Variables: {
          BOXYARD_AGENT_URL: '{{resolve:ssm:/boxyard/trial/agent-url}}',
          BOXYARD_CHANNEL_KEYS: '{{resolve:secretsmanager:boxyard/trial/channel-keys}}',
          BOXYARD_TOKEN_KEYS: '{{resolve:secretsmanager:boxyard/trial/token-keys}}',
        },
      },
      VpcConfig: { SubnetIds: { 'Fn::Split': [',', { Ref: 'SubnetIds' }] } },
    })
    expect(template.Parameters.SubnetIds).toMatchObject({ Default: '/boxyard/trial/subnet-ids' })
  })

  test('lets the function write its own log and do nothing else', () => {
    const roles = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::IAM::Role')
    expect(roles).toHaveLength(1)
    const properties = roles[0]?.Properties as { Policies: { PolicyDocument: { Statement: Statement[] } }[] }
    expect(properties).not.toHaveProperty('ManagedPolicyArns')
    const [log, attach, deny] = properties.Policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
    expect(log?.Action).toEqual(['logs:CreateLogStream', 'logs:PutLogEvents'])
    expect(JSON.stringify(log?.Resource)).toContain(':log-group:/aws/lambda/boxyard-trial-rest:*')
    expect(attach?.Action.toString()).toMatch(/^(ec2:[A-Za-z]*(NetworkInterfaces?|Subnets|PrivateIpAddresses),?)+$/)
    expect(deny).toMatchObject({ Effect: 'Deny', Action: 'ec2:*' })
    expect(JSON.stringify(deny?.Condition)).toContain(':function:boxyard-trial-rest')
  })
})

interface Statement {
  Effect: string
  Action: string | string[]
  Resource: unknown
  Condition?: unknown
}
