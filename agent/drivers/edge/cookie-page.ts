import { createHash } from 'node:crypto'
import { pageHeaders, pageOf, pagePolicy } from '../../../shared/http/page.ts'

/**
 * The answer to a request that is too large to forward. A page can make the requests of its visitor that large with many big cookies of the
 * domain above all boxes. No later request could ask to delete them, so a script in the answer does it in the browser.
 */
export interface CookiePage {
  headers: Readonly<Record<string, string>>
  body: string
}

/** Returns the answer, which is the same for all requests. */
export function cookiePage(): CookiePage {
  const script = createHash('sha256').update(SCRIPT).digest('base64')
  const policy = `${pagePolicy()}; script-src 'sha256-${script}'`
  return {
    headers: { ...pageHeaders(), 'content-security-policy': policy },
    body: pageOf({ title: TITLE, main: MAIN }),
  }
}

/** The longest `Cookie` header to forward, in bytes, which HAProxy's buffer holds beside other headers. */
export const COOKIE_BYTES_MAX = 56 * 1024

const TITLE = 'Too many cookies'
// An expired cookie deletes one of the same name, domain, path and partition. Scripts see all cookies that scripts set.
const SCRIPT = [
  "document.querySelector('button').onclick=()=>{",
  "const names=document.cookie.split('; ').map(pair=>pair.includes('=')?pair.slice(0,pair.indexOf('=')):'');",
  "const labels=location.hostname.split('.');",
  "const domains=['',...labels.map((_,index)=>'; Domain='+labels.slice(index).join('.'))];",
  "const parts=location.pathname.split('/');",
  "const paths=parts.flatMap((_,index)=>{const path=parts.slice(0,index+1).join('/');return[path||'/',path+'/']});",
  "for(const name of new Set(names))for(const domain of domains)for(const path of new Set(paths))for(const last of['','; Partitioned'])",
  "document.cookie=name+'=x; Max-Age=0; Secure; Path='+path+domain+last;",
  // Browsers may send the next request before what a script deleted is gone.
  'const end=Date.now()+2000;',
  "const again=()=>document.cookie!==''&&Date.now()<end?setTimeout(again,20):location.replace(location.href);",
  'setTimeout(again,50)}',
].join('')
const MAIN = [
  '<p>A page has stored more cookies in this browser than a request to this address can carry.</p>',
  '<button type="button">Delete the cookies and try again</button>',
  '<p class="small">This deletes what scripts have stored as cookies for this address and the domain above it. Sessions stay. ',
  'If it does not help, delete the cookies of this site in the settings of the browser.</p>',
  `<script>${SCRIPT}</script>`,
].join('')
