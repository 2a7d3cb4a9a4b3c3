import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { publishedLimits } from '../agent/compose/limits.ts'
import { readAgentSettings } from '../agent/config/agent.ts'
import { BOX_REASONS, BOX_TRANSITIONS, type BoxState } from '../shared/box-states.ts'
import type { ErrorCode } from '../shared/errors.ts'
import { buildOpenApiDocument } from '../shared/openapi/document.ts'
import type { Operation } from '../shared/operation.ts'
import { SHARED_ERRORS } from '../shared/operation-errors.ts'
import { problemTypes } from '../shared/problem-types.ts'
import { OPERATIONS } from '../shared/routes.ts'
import { LIMIT_TEXTS, type LimitName } from '../shared/schemas/limits.ts'
import { fieldTable, isRequest, type JsonSchema, type LinkOf, noteOf, typeOf } from './api-docs-fields.ts'
import { cliReference } from './cli-docs.ts'
import { ROOT } from './commands.ts'
import { suiteTable } from './jest/suite-table.ts'
import { anchorOf, fillSections, tableOf } from './markdown.ts'

/** The parts of the OpenAPI document that the generated sections of docs/api.md and its siblings use. */
interface ApiDocument {
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, DescribedOperation>>
  components: { schemas: Record<string, JsonSchema> }
}

interface DescribedOperation {
  tags: string[]
  parameters?: { in: string; name: string; description?: string; schema: JsonSchema }[]
  requestBody?: Body
  responses: Record<string, Body>
}

interface Body {
  content?: Record<string, { schema: JsonSchema }>
}

/** Returns the pages with regenerated sections, by path below the repository. */
export function generatedPages(): Map<string, string> {
  const document = buildOpenApiDocument() as unknown as ApiDocument
  const sections: Record<string, Record<string, string>> = {
    'docs/api.md': {
      reasons: reasonTable(),
      transitions: transitionTable(),
      'shared-errors': sharedErrors(),
      limits: limitTable(),
    },
    'docs/api/errors.md': { errors: errorSections() },
    'docs/api/operations.md': { operations: operationSections(document), queries: queryTable(document) },
    'docs/api/resources.md': { resources: schemaSections(document, 'resources.md'), values: valueTable(document) },
    'docs/api/requests.md': { requests: schemaSections(document, 'requests.md') },
    'docs/cli.md': { reference: cliReference() },
    'CONTRIBUTING.md': { suites: suiteTable() },
  }
  return new Map(
    Object.entries(sections).map(([path, given]) => [
      path,
      fillSections(readFileSync(join(ROOT, path), 'utf8'), given),
    ]),
  )
}

function reasonTable(): string {
  const rows = Object.entries(BOX_REASONS).map(([reason, [status, meaning]]) => {
    return [`\`${reason}\``, status === null ? '–' : `\`${status}\``, meaning]
  })
  return tableOf(['`state.reason`', '`status`', 'Meaning'], rows)
}

function transitionTable(): string {
  const list = (states: readonly BoxState[]): string => states.map((state) => `\`${state}\``).join(', ')
  const made = ['–', '`creating`', '`POST P/boxes`.']
  const gone = ['any', 'gone', '`DELETE B`, at once and in every state.']
  const rows = BOX_TRANSITIONS.map(({ from, to, by }) => [list(from), list(to), by])
  return tableOf(['From', 'To', 'Cause'], [made, ...rows, gone])
}

function sharedErrors(): string {
  const rows = Object.entries(SHARED_ERRORS).map(([kind, codes]) => [
    WHO_SHARES[kind as keyof typeof SHARED_ERRORS],
    errorLinks(codes, 'api/'),
  ])
  return tableOf(['Operations', 'Codes'], rows)
}

// Minimum of each value that depends on the host.
const ANY_HOST = { BOXYARD_STARTS_AT_ONCE: '4' }

function limitTable(): string {
  const values = publishedLimits(readAgentSettings(ANY_HOST))
  const rows = Object.entries(LIMIT_TEXTS).map(([name, text]) => [
    `\`${name}\``,
    values[name as LimitName].toLocaleString('en'),
    text,
  ])
  return tableOf(['Limit', 'Default', 'Description'], rows)
}

function errorSections(): string {
  const byStatus = Map.groupBy(problemTypes(), ({ status }) => status)
  return [...byStatus]
    .map(([status, problems]) => {
      const rows = problems.map(({ code, retryable, meaning, remedy }) => [
        `<a id="${code}"></a>\`${code}\``,
        retryable ? 'yes' : 'no',
        meaning,
        remedy,
      ])
      return `## ${status}\n\n${tableOf(['Code', 'Retryable', 'Meaning', 'Remedy'], rows)}`
    })
    .join('\n\n')
}

function operationSections(document: ApiDocument): string {
  const tagOf = ({ path, method }: Operation): string => describedIn(document, { path, method }).tags[0] ?? ''
  const byTag = Map.groupBy(OPERATIONS, tagOf)
  return document.tags
    .map(({ name, description }) => {
      const rows = (byTag.get(name) ?? []).map((operation) => operationRow(operation, document))
      return `## ${description}\n\n${tableOf(['Operation', 'Description', 'Permission', 'Request', 'Response', 'Specific errors'], rows)}`
    })
    .join('\n\n')
}

function operationRow(operation: Operation, document: ApiDocument): string[] {
  const { id, method, path, summary, details, permission, ofAllProjects, errors } = operation
  const { requestBody, responses } = describedIn(document, operation)
  const { schemas } = document.components
  const link = (name: string): string => linkBetween('operations.md', name, schemas[name])
  const answers = Object.entries(responses)
    .filter(([status]) => Number(status) < 400 && status !== '304')
    .map(([status, body]) => [status, bodyOf(body, link)].filter(Boolean).join(' '))
  return [
    `<a id="${id}"></a>\`${method} ${path}\`<br>\`${id}\``,
    details === null ? summary : `${summary}. ${details}`,
    permission === null
      ? 'none'
      : permission === 'any'
        ? 'any token'
        : `\`${permission}\`${ofAllProjects ? ' for `*`' : ''}`,
    requestBody ? bodyOf(requestBody, link) : '',
    answers.join(', '),
    errorLinks(errors, ''),
  ]
}

/** Renders every distinct query parameter with its operations. */
function queryTable(document: ApiDocument): string {
  const { schemas } = document.components
  const link = (name: string): string => linkBetween('operations.md', name, schemas[name])
  const takers = new Map<string, string[]>()
  for (const operation of OPERATIONS) {
    for (const parameter of describedIn(document, operation).parameters ?? []) {
      if (parameter.in !== 'query') continue
      const { name, description, schema } = parameter
      const described = description === undefined ? schema : { ...schema, description }
      const row = [`\`${name}\``, typeOf(schema, link), noteOf(described)]
      const key = JSON.stringify(row)
      takers.set(key, [...(takers.get(key) ?? []), `\`${operation.id}\``])
    }
  }
  const rows = [...takers].map(([key, ids]) => [...(JSON.parse(key) as string[]), ids.join(', ')])
  return tableOf(
    ['Parameter', 'Type', 'Description', 'Operations'],
    rows.toSorted((one, other) => (one.join() < other.join() ? -1 : 1)),
  )
}

function describedIn(document: ApiDocument, { path, method }: Pick<Operation, 'path' | 'method'>): DescribedOperation {
  const described = document.paths[path]?.[method.toLowerCase()]
  if (!described) throw new Error(`the OpenAPI document has no ${method} ${path}`)
  return described
}

function bodyOf({ content = {} }: Body, linkOf: LinkOf): string {
  const kinds = Object.entries(content).map(([type, { schema }]) => {
    if (type !== 'application/json') return `\`${type}\``
    return schema.$ref === undefined ? 'JSON' : typeOf(schema, linkOf)
  })
  return kinds.join(' or ')
}

/** Renders the objects with fields, each under its name, for one page: objects that clients send, or objects that they receive. */
function schemaSections({ components: { schemas } }: ApiDocument, page: 'requests.md' | 'resources.md'): string {
  return Object.entries(schemas)
    .filter(([name, schema]) => schema.properties && pageOf(name, schema) === page)
    .map(([name, schema]) => {
      const text = schema.description === undefined ? '' : `${schema.description}\n\n`
      return `## ${name}\n\n${text}${fieldTable(schema, (other) => linkBetween(page, other, schemas[other]))}`
    })
    .join('\n\n')
}

/** Renders the named schemas that have no fields. */
function valueTable({ components: { schemas } }: ApiDocument): string {
  const link = (name: string): string => linkBetween('resources.md', name, schemas[name])
  const rows = Object.entries(schemas)
    .filter(([name, schema]) => schema.properties === undefined && pageOf(name, schema) === 'resources.md')
    .map(([name, schema]) => [`<a id="${anchorOf(name)}"></a>${name}`, typeOf(schema, link), schema.description ?? ''])
  return tableOf(['Value', 'Type', 'Description'], rows)
}

/** Returns the page that describes a schema. Lists and limits are described beside their rules. */
function pageOf(name: string, schema: JsonSchema): string {
  if (name.endsWith('List')) return '../api.md#lists'
  if (name === 'Limits') return '../api.md#limits'
  if (name === 'ErrorCode') return 'errors.md#errors'
  return isRequest(schema) ? 'requests.md' : 'resources.md'
}

function linkBetween(page: string, name: string, schema: JsonSchema | undefined): string {
  if (!schema) throw new Error(`the OpenAPI document has no ${name}`)
  const target = pageOf(name, schema)
  if (target.includes('#')) return target
  return `${target === page ? '' : target}#${anchorOf(name)}`
}

function errorLinks(codes: readonly ErrorCode[], directory: string): string {
  return codes.map((code) => `[\`${code}\`](${directory}errors.md#${code})`).join(', ')
}

const WHO_SHARES: Record<keyof typeof SHARED_ERRORS, string> = {
  every: 'every',
  token: 'operations that need a token',
  body: 'operations that take JSON',
  mutation: 'all except `GET`',
  post: '`POST`',
}

/** `npm run docs` writes the generated sections. With `--check` it only reports stale ones. */
if (import.meta.main) {
  const isCheck = process.argv.includes('--check')
  for (const [path, text] of generatedPages()) {
    if (readFileSync(join(ROOT, path), 'utf8') === text) continue
    if (isCheck) process.exitCode = 1
    else writeFileSync(join(ROOT, path), text)
    process.stdout.write(isCheck ? `${path} is stale: npm run docs\n` : `${path} is written\n`)
  }
}
