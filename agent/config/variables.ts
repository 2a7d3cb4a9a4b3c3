import * as z from 'zod'
import { HOSTS_EXPECTED, isHostPattern } from '../../shared/http/host-pattern.ts'
import { isNetwork, NETWORKS_EXPECTED } from '../../shared/http/source-address.ts'

/** `true` or `false`. */
export const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false'], { error: 'expected true or false' })
    .default(fallback ? 'true' : 'false')
    .transform((text) => text === 'true')

/** A decimal number within bounds. */
export const number = (fallback: number, min: number, max: number) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, `expected a number from ${min} to ${max}`)
    .default(String(fallback))
    .transform(Number)
    .refine((value) => value >= min && value <= max, `expected a number from ${min} to ${max}`)

/** A whole number within bounds. */
export const whole = (fallback: number, min: number, max: number) =>
  number(fallback, min, max).refine(Number.isInteger, 'expected a whole number')

/** A comma-separated list. */
export const list = z
  .string()
  .default('')
  .transform((text) => text.split(',').filter((item) => item !== ''))

/** A name as in the API. */
export const name = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'expected a name of a-z, 0-9 and single hyphens')

/** An origin (scheme, host, port), normalized. */
export const origin = z
  .string()
  .refine((url) => ORIGIN.test(url) && URL.canParse(url), 'expected an origin such as https://data.example.org')
  .transform((url) => (URL.canParse(url) ? new URL(url).origin : url))

/** Origins of registries. `https` if no scheme is given. */
export const registries = list
  .transform((items) => items.map((item) => (/^https?:/.test(item) ? item : `https://${item}`)))
  .refine(
    (items) => items.every((item) => ORIGIN.test(item) && URL.canParse(item)),
    'expected registries such as registry.example.org:5000 or http://127.0.0.1:5000',
  )
  .transform((items) => items.map((item) => (URL.canParse(item) ? new URL(item).origin : item)))

/** Addresses and networks, such as 10.0.0.0/8. */
export const networks = list.refine((items) => items.every(isNetwork), `expected ${NETWORKS_EXPECTED}`)

/** Host names, such as api.example.org or *.example.org. */
export const hostPatterns = list.refine((items) => items.every(isHostPattern), `expected ${HOSTS_EXPECTED}`)

/** An absolute path. */
export const absolute = z.string().regex(/^\//, 'expected an absolute path')

const ORIGIN = /^https?:\/\/[^/?#@\s]+\/?$/

/** Returns the variables that hold settings. Leaves empty ones out, which count as not given. */
export function givenSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const given = Object.entries(environment).filter(([key, value]) => key.startsWith('BOXYARD_') && value !== '')
  return Object.fromEntries(given.map(([key, value]) => [key, value ?? '']))
}
