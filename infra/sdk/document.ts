import { buildOpenApiDocument } from '../../shared/openapi/document.ts'
import { OPERATIONS } from '../../shared/routes.ts'

/** Omits examples and failures, which all have one shape, `Problem`, and would be nine tenths of the types. */
export function documentWithoutFailures(firstLeftOut = 400): Record<string, unknown> {
  const document = buildOpenApiDocument()
  for (const path of Object.values(document['paths'] as Record<string, Record<string, { responses: object }>>)) {
    for (const operation of Object.values(path)) {
      const kept = Object.entries(operation.responses).filter(([status]) => Number(status) < firstLeftOut)
      operation.responses = Object.fromEntries(kept)
    }
  }
  const text = JSON.stringify(document, (key, value: unknown) => (key === 'example' ? undefined : value))
  return JSON.parse(text) as Record<string, unknown>
}

/** Returns `x-boxyard-retry` of each operation in the document. */
export function retryMarks(): Map<string, string> {
  const paths = buildOpenApiDocument()['paths'] as Record<string, Record<string, Record<string, string>>>
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  const marks = new Map(operations.map((each) => [each['operationId'] ?? '', each['x-boxyard-retry'] ?? '']))
  return new Map(OPERATIONS.map(({ id }) => [id, marks.get(id) ?? 'never']))
}

/** Returns the name of the class of an error code. */
export function errorClassName(code: string): string {
  return `${code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Error`
}
