import * as z from 'zod'
import { nameSchema, protocolSchema, timestampSchema } from './common.ts'

/** A host name of at least two labels, in lower case. Other letters are written as `xn--…`. */
const domainSchema = z
  .string()
  .max(253)
  .regex(
    /^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
    'must be a host name such as shop.example.org',
  )
  .transform((name) => name.toLowerCase())
  .meta({
    id: 'Domain',
    description: 'A host name without a port. Case does not matter.',
    examples: ['shop.example.org'],
  })

/** The path of a TCP port of a box. */
export const portParams = z.strictObject({
  project: nameSchema,
  name: nameSchema,
  port: z
    .string()
    .refine((text) => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535, 'must be a port, 1–65535')
    .meta({ description: 'TCP port, 1–65535.', examples: ['5432'] }),
})

const domains = z.array(domainSchema).max(1000)

/** `POST B/publish`. */
export const publishBodySchema = z
  .strictObject({
    domains: domains.optional().meta({ description: 'Domains to add to the box.' }),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .nullable()
      .optional()
      .meta({ description: 'Port that all its URLs forward to. 0 and null unset it.' }),
    protocol: protocolSchema.nullable().optional(),
    auth: z
      .enum(['token', 'public'])
      .optional()
      .meta({ description: 'Access to all its URLs, as `url_settings.auth`.' }),
  })
  .meta({ id: 'Publish' })

/** `POST B/services/{service}/publish`. */
export const publishServiceBodySchema = z
  .strictObject({ domains: domains.min(1).meta({ description: 'Domains to add to the service.' }) })
  .meta({ id: 'PublishService' })

/** `POST B/unpublish`, and of a service. */
export const unpublishBodySchema = z
  .strictObject({ domains: domains.optional().meta({ description: 'Domains to remove. Default: all.' }) })
  .meta({ id: 'Unpublish' })

/** `POST B/url-tickets`. */
export const urlTicketBodySchema = z
  .strictObject({
    url: z.string().min(1).max(4_096).meta({
      description:
        'URL of the box, of one of its services or previews, or of one of its domains. Its path, query and fragment are opened.',
    }),
  })
  .meta({ id: 'UrlTicketRequest' })

/** A ticket for a URL of a box. `url` works once, within 60 s. */
export const urlTicketSchema = z
  .looseObject({
    url: z.string().optional().meta({ description: 'URL to open in a browser. Absent in a replay.' }),
    expires_at: timestampSchema.meta({
      description: '60 s after the ticket was created, or when the token expires, whichever is first.',
    }),
  })
  .meta({ id: 'UrlTicket' })

export type PublishBody = z.infer<typeof publishBodySchema>
