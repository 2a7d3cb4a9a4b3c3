import { runAgentCommand } from './agent-command.ts'

// `npm run token -- --name ci --projects '*' --permissions read,write,exec --expires 3600`: prints the token on stdout.
process.exitCode = await runAgentCommand(['token', ...process.argv.slice(2)])
