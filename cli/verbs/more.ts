import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { authorizationOf } from '../../sdk/typescript/src/authorization.ts'
import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { holdText } from '../../sdk/typescript/src/held-answers.ts'
import { parseJson, toApiError } from '../../sdk/typescript/src/problems.ts'
import { followReads, redirectOf } from '../../sdk/typescript/src/redirects.ts'
import { UsageError } from '../output/failures.ts'
import { printAnswer } from '../output/printing.ts'
import { printLine } from '../output/terminal.ts'
import { escapeJson } from '../output/visible-text.ts'
import { anyJsonFrom } from './plain.ts'
import type { Verb } from './verb.ts'

const api: Verb = {
  words: 'api',
  args: '<method> <path>',
  flags: [['-d, --data <json>', 'body (@FILE reads a file, - reads stdin)']],
  summary: 'Send any API request and print the unchanged response. {project} in the path becomes your project',
  examples: ['boxyard api GET /v1/me', `boxyard api POST /v1/projects/{project}/boxes -d '{"name":"web"}'`],
  operations: [],
  run: async ({ connection, project, format }, [method = '', given = ''], flags) => {
    const path = given.includes('{project}') ? given.replaceAll('{project}', project()) : given
    if (!path.startsWith('/')) throw new UsageError(`<path>: must begin with a slash, such as /v1/me, not "${path}".`)
    const data = flags['data']
    const request = new Request(`${connection.url}${path}`, {
      method: method.toUpperCase(),
      redirect: redirectOf(method),
      headers: {
        ...authorizationOf(connection.token()),
        ...(typeof data === 'string' ? { 'content-type': 'application/json' } : {}),
      },
      ...(typeof data === 'string' ? { body: JSON.stringify(anyJsonFrom(data)) } : {}),
    })
    const response = await followReads(fetch)(request)
    const text = await holdText(response)
    if (!response.ok) throw toApiError(response.status, parseJson(text))
    if (format !== 'table') await printAnswer(parseJson(text), format)
    else if (text !== '') printLine(isJson(response) ? escapeJson(text.trimEnd()) : text.trimEnd())
  },
}

const health: Verb = {
  words: 'health',
  args: '',
  flags: [],
  summary: 'Show service and host health, and exit 1 if anything is wrong',
  examples: ['boxyard health', 'boxyard health -o json'],
  operations: ['getHealth'],
  run: async ({ boxyard, format }) => {
    try {
      const report = await boxyard.call('getHealth', {})
      await printAnswer(format === 'table' ? withoutCluster(report) : report, format)
      return report.status === 'ok' ? 0 : 1
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'unexpected_answer') throw error
      await printAnswer(error.body, format)
      return 1
    }
  },
}

const openapi: Verb = {
  words: 'openapi',
  args: '',
  flags: [],
  summary: 'Print the OpenAPI description of the API, as JSON unless -o selects YAML',
  examples: ['boxyard openapi > openapi.json', 'boxyard openapi -o yaml'],
  operations: ['getOpenApi'],
  run: async ({ boxyard, format }) => {
    // Programs read it, so a table has no use.
    await printAnswer(await boxyard.call('getOpenApi', {}), format === 'table' ? 'json' : format)
  },
}

/** Other commands. */
export const MORE_VERBS: readonly Verb[] = [api, health, openapi]

/** Leaves out the fields of a cluster if there is none. A pure function. */
export function withoutCluster<Report extends HealthReport>({ kubernetes, namespace, ...report }: Report): object {
  return {
    ...report,
    ...(kubernetes === undefined || kubernetes.nodes.length === 0 ? {} : { kubernetes }),
    ...(namespace ? { namespace } : {}),
  }
}

type HealthReport = Pick<AnswerOf<'getHealth'>, 'kubernetes' | 'namespace'>

function isJson({ headers }: Response): boolean {
  return /^application\/([\w.]+\+)?json\b/.test(headers.get('content-type') ?? '')
}
