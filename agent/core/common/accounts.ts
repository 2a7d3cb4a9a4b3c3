import { isOperator, type TokenScope } from '../../../shared/auth/tokens.ts'

/** The scope of a token, and the token at the root of its chain. */
export interface AccountHolder extends Pick<TokenScope, 'projects' | 'permissions'> {
  root: string
}

/**
 * Returns the accounts that a request counts against: its project, and the chain of its token. In a project an operator acts for
 * others, so that only the project counts.
 */
export function accountsOf(holder: AccountHolder, project: string | null): string[] {
  if (project === null || project === '-') return [rootAccount(holder)]
  const ofProject = projectAccount(project)
  return isOperator(holder) ? [ofProject] : [ofProject, rootAccount(holder)]
}

/** Returns the one account by which requests are counted over time. */
export function rateAccountOf(holder: AccountHolder, project: string | null): string {
  const root = rootAccount(holder)
  return isOperator(holder) && project !== null ? `${root} ${projectAccount(project)}` : root
}

/** Returns the accounts of work in a box on behalf of `actor`, or of the service itself. */
export function boxAccounts(
  { id, project }: { id: string; project: string },
  actor: { accounts?: readonly string[] } | null,
): string[] {
  return [`box ${id}`, projectAccount(project), ...(actor?.accounts ?? [])]
}

function projectAccount(project: string): string {
  return `project ${project}`
}

function rootAccount({ root }: AccountHolder): string {
  return `token ${root}`
}
