import * as z from 'zod'

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
