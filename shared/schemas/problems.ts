import * as z from 'zod'
import { ERROR_STATUSES, type ErrorCode } from '../errors.ts'

/** The error body of every operation, `Problem` of shared/errors.ts. */
export const problemSchema = z
  .looseObject({
    type: z.string().meta({ description: 'Path at the answering origin that explains the code.' }),
    title: z.string().meta({ description: 'Short name of the code, for people.' }),
    status: z.int().meta({ description: 'HTTP status of the response.' }),
    detail: z.string().meta({ description: 'Reason of this error, for people.' }),
    code: z.enum([...ERROR_STATUSES.keys()] as [ErrorCode, ...ErrorCode[]]).meta({ id: 'ErrorCode' }),
    request_id: z.string().meta({ description: 'Id of the request, as in `X-Request-Id` and the logs.' }),
    retryable: z.boolean().meta({ description: 'Whether the same request may succeed later.' }),
    errors: z
      .array(
        z.looseObject({
          pointer: z.string().meta({
            description: 'JSON Pointer (RFC 6901) into the body, or starting with `/query`, `/path` or `/headers`.',
          }),
          detail: z.string().meta({ description: 'Fault at this place.' }),
        }),
      )
      .optional()
      .meta({ description: 'Problems of the request, at most 50. Only with `invalid_request`.' }),
  })
  .meta({ id: 'Problem', description: 'The error format for all errors, from RFC 9457.' })

/** The explanation of one error code, `ProblemType` of shared/problem-types.ts. */
export const problemTypeSchema = z
  .looseObject({
    type: z
      .string()
      .meta({ description: 'The `type` of problems with this code, a path at the origin that answered.' }),
    code: z.string(),
    title: z.string(),
    status: z.int().meta({ description: 'HTTP status of responses with this code.' }),
    retryable: z.boolean().meta({ description: 'Whether the same request may succeed later.' }),
    meaning: z.string(),
    remedy: z.string().meta({ description: 'Remedy for clients.' }),
    catalogue: z.string().meta({ description: 'Path of the list of all codes.' }),
  })
  .meta({ id: 'ProblemType' })

/** `GET /problems`. */
export const problemTypeListSchema = z
  .looseObject({ problems: z.array(problemTypeSchema) })
  .meta({ id: 'ProblemTypeList' })

/** The path of one error code. An unknown code is not found. */
export const problemTypeParams = z.strictObject({ code: z.string().max(200) })
