import { buildCli } from './cli-bundle.ts'

// `npm run cli -- ls`: bundles the command line, and runs it in the directory that npm was called from.
const program = await buildCli()
process.chdir(process.env['INIT_CWD'] ?? process.cwd())
// The path that it uses to start itself (`ssh-config`).
process.argv[1] = program
await import(program)
