import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findClientGenerators } from './client-generators/program.ts'
import { ROOT } from './commands.ts'
import { generatePythonBase, generatePythonTables, writePythonBase } from './sdk/python.ts'
import { generateTypescript } from './sdk/typescript.ts'

/**
 * `node infra/sdk.ts [--check]` writes the generated files of the SDKs, or fails if one differs. It does not check the base of the Python
 * SDK, whose generator is installed outside the checkout. tests/clients does.
 */
async function main(): Promise<void> {
  const isCheck = process.argv.includes('--check')
  if (!isCheck) await writeBase()
  for (const [file, text] of Object.entries({ ...(await generateTypescript()), ...generatePythonTables() })) {
    const path = join(ROOT, file)
    if (!isCheck) {
      mkdirSync(join(path, '..'), { recursive: true })
      writeFileSync(path, text)
    } else if (readOrNull(path) !== text) {
      process.stdout.write(`${file} is not what the document says; run npm run sdk\n`)
      process.exitCode = 1
    }
  }
}

async function writeBase(): Promise<void> {
  const generators = await findClientGenerators((text) => process.stdout.write(`${text}\n`))
  if (typeof generators === 'string') return writePythonBase(generatePythonBase(generators))
  process.stdout.write(`The base of the Python SDK is not written: ${generators.obstacle}.\n`)
  process.exitCode = 1
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

await main()
