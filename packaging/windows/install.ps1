<#
.SYNOPSIS
Installs, upgrades or removes etwship without Windows Installer.

.DESCRIPTION
Does what the MSI does, with the same commands of etwship.exe (service setup, retire, undo, forget), from
the folder that this script lies in. What fails is taken back.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File install.ps1 -OutputUrl https://elasticsearch.example:9200 -ApiKeyFile C:\ProgramData\etwship-key.txt

.EXAMPLE
powershell -ExecutionPolicy Bypass -File install.ps1 -Uninstall
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
[CmdletBinding()]
param(
    [string] $InstallDir = (Join-Path $env:ProgramFiles 'etwship'),
    [string] $ConfigFile,
    [string] $OutputUrl,
    [string] $ApiKeyFile,
    [ValidateSet('', 'system', 'virtual')] [string] $ServiceAccount,
    [ValidateSet('0', '1')] [string] $StartService = '1',
    [switch] $Uninstall,
    [switch] $RemoveData
)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

$program = Join-Path $InstallDir 'etwship.exe'
$backup = Join-Path $InstallDir 'etwship.exe.before'
$files = 'etwship.exe', 'LICENSE.txt', 'NOTICES.txt', 'TRY.md', 'CHECKLIST.md', 'etwship.yaml', 'etwship.spdx.json'

# An argument per value: what is empty is left out, as Windows PowerShell loses empty ones.
function Invoke-Service([string] $Verb, [hashtable] $Options = @{}) {
    $words = @('service', $Verb)
    foreach ($name in $Options.Keys) {
        if ($Options[$name]) { $words += "--$name=$($Options[$name])" }
    }
    & $program $words | Out-Host
    return $LASTEXITCODE
}

# Only what is ours: the folder may be one of others', too.
function Remove-Files {
    foreach ($file in $files) {
        Remove-Item -LiteralPath (Join-Path $InstallDir $file) -Force -ErrorAction SilentlyContinue
    }
    if (-not (Get-ChildItem -LiteralPath $InstallDir -Force)) { Remove-Item -LiteralPath $InstallDir }
}

if ($Uninstall) {
    $code = Invoke-Service retire @{ 'remove-data' = [string] [int] [bool] $RemoveData }
    if ($code -eq 0) {
        Invoke-Service forget | Out-Null
        Remove-Files
    }
    exit $code
}

$isUpgrade = Test-Path -LiteralPath $program
$upgrade = if ($isUpgrade) { 'script' } else { '' }
if ($isUpgrade) {
    # What can fail without a change comes first: then the service still runs.
    Copy-Item -LiteralPath $program -Destination $backup -Force
    $code = Invoke-Service forget
    if ($code -eq 0) {
        $code = Invoke-Service retire @{ upgrade = $upgrade }
        if ($code -ne 0) { Invoke-Service undo | Out-Null }
    }
    if ($code -ne 0) {
        Remove-Item -LiteralPath $backup -Force -ErrorAction SilentlyContinue
        exit $code
    }
}
$code = 1
$began = $isUpgrade
try {
    New-Item -ItemType Directory -Force -Path $InstallDir | Out-Null
    foreach ($file in $files) {
        Copy-Item -LiteralPath (Join-Path $PSScriptRoot $file) -Destination $InstallDir -Force
    }
    # What another installation noted is not to be undone with this one.
    if (-not $began) {
        if ((Invoke-Service forget) -ne 0) { throw "'etwship service forget' failed" }
        $began = $true
    }
    $code = Invoke-Service setup @{
        'config-file' = $ConfigFile; 'output-url' = $OutputUrl; 'api-key-file' = $ApiKeyFile
        'account' = $ServiceAccount; 'start' = $StartService; 'upgrade' = $upgrade
    }
} finally {
    if ($code -ne 0) {
        if ($began -and (Test-Path -LiteralPath $program)) { Invoke-Service undo @{ upgrade = $upgrade } | Out-Null }
        if ($isUpgrade) {
            Copy-Item -LiteralPath $backup -Destination $program -Force
            Invoke-Service undo | Out-Null
        } elseif (Test-Path -LiteralPath $program) {
            Remove-Files
        }
    } else {
        Invoke-Service forget | Out-Null
    }
    Remove-Item -LiteralPath $backup -Force -ErrorAction SilentlyContinue
}
exit $code
