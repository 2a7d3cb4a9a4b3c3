import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOpenApiDocument } from '../shared/openapi/document.ts'
import { ROOT } from './commands.ts'

// Writes the OpenAPI document that `GET /openapi.json` serves to a file, for tools.
mkdirSync(join(ROOT, '.build'), { recursive: true })
writeFileSync(join(ROOT, '.build/openapi.json'), `${JSON.stringify(buildOpenApiDocument(), null, 2)}\n`)
