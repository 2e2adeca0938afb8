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

$InstallDir = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($InstallDir)
$program = Join-Path $InstallDir 'etwship.exe'
$files = 'etwship.exe', 'etwship-messages.dll', 'LICENSE.txt', 'NOTICES.txt', 'TRY.md', 'CHECKLIST.md', 'etwship.yaml', 'etwship.spdx.json'

# An argument per value: what is empty is left out, as Windows PowerShell loses empty ones.
function Invoke-Service([string] $Verb, [hashtable] $Options = @{}) {
    $words = @('service', $Verb)
    foreach ($name in $Options.Keys) {
        if ($Options[$name]) { $words += "--$name=$($Options[$name])" }
    }
    & $program $words | Out-Host
    return $LASTEXITCODE
}

# What must not keep what follows from being done: it is told, and that is all.
function Invoke-Step([string] $What, [scriptblock] $Step) {
    try { & $Step } catch { Write-Warning "$What`: $_" }
}

# Moved, and not overwritten or deleted: whoever runs or shows a file keeps that from being done, but not
# its move to another folder of the same disk.
function Move-Files([string] $From, [string] $To) {
    foreach ($file in $files) {
        $path = Join-Path $From $file
        if (Test-Path -LiteralPath $path) { Move-Item -LiteralPath $path -Destination $To }
    }
}

function New-Aside {
    $path = Join-Path $InstallDir ('before-' + [Guid]::NewGuid().ToString('N'))
    New-Item -ItemType Directory -Path $path | Out-Null
    return $path
}

# Each file that was moved there, back into its place.
function Restore-Files([string] $From) {
    $failed = New-Aside
    foreach ($file in $files) {
        $old = Join-Path $From $file
        $new = Join-Path $InstallDir $file
        if (-not (Test-Path -LiteralPath $old)) { continue }
        Invoke-Step $file {
            if (Test-Path -LiteralPath $new) { Move-Item -LiteralPath $new -Destination $failed }
            Move-Item -LiteralPath $old -Destination $InstallDir
        }
    }
}

# Only what is ours: the folder may be one of others', too. What is still in use stays, and goes next time.
function Remove-Aside {
    foreach ($folder in @(Get-ChildItem -LiteralPath $InstallDir -Directory -Filter 'before-*' -Force)) {
        if ($folder.Name -match '^before-[0-9a-f]{32}$') {
            Remove-Item -LiteralPath $folder.FullName -Recurse -Force -ErrorAction SilentlyContinue
        }
    }
}

function Remove-Files {
    foreach ($file in $files) {
        $path = Join-Path $InstallDir $file
        Remove-Item -LiteralPath $path -Force -ErrorAction SilentlyContinue
        if (Test-Path -LiteralPath $path) { Write-Warning "$path is in use, and stays" }
    }
    Remove-Aside
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

# ---- what can fail without a change ----------------------------------------------------------------

foreach ($file in $files) {
    if (-not (Test-Path -LiteralPath (Join-Path $PSScriptRoot $file))) { throw "$file is missing in $PSScriptRoot" }
}
if ($InstallDir.TrimEnd('\') -eq $PSScriptRoot.TrimEnd('\')) {
    throw "unpack the archive somewhere else than in $InstallDir"
}
$isUpgrade = Test-Path -LiteralPath $program
foreach ($file in $files) {
    # Files of the same names that another program put there would be moved away and lost.
    if (-not $isUpgrade -and (Test-Path -LiteralPath (Join-Path $InstallDir $file))) {
        throw "$InstallDir has a file $file, but no etwship.exe. remove the file, or choose another folder"
    }
}
$upgrade = if ($isUpgrade) { 'script' } else { '' }
New-Item -ItemType Directory -Force -Path $InstallDir | Out-Null
Remove-Aside

# ---- the change ------------------------------------------------------------------------------------

$aside = $null      # where the files of before are, once they are moved
$canUndo = $false   # what `service undo` goes by is of this installation
$code = 1
try {
    if ($isUpgrade) {
        # What another installation noted is not to be undone with this one.
        if ((Invoke-Service forget) -ne 0) { throw "'etwship service forget' failed" }
        $canUndo = $true
        if ((Invoke-Service retire @{ upgrade = $upgrade }) -ne 0) { throw "'etwship service retire' failed" }
    }
    $aside = New-Aside
    Move-Files $InstallDir $aside
    foreach ($file in $files) {
        Copy-Item -LiteralPath (Join-Path $PSScriptRoot $file) -Destination $InstallDir
    }
    if (-not $isUpgrade) {
        if ((Invoke-Service forget) -ne 0) { throw "'etwship service forget' failed" }
        $canUndo = $true
    }
    $code = Invoke-Service setup @{
        'config-file' = $ConfigFile; 'output-url' = $OutputUrl; 'api-key-file' = $ApiKeyFile
        'account' = $ServiceAccount; 'start' = $StartService; 'upgrade' = $upgrade
    }
} catch {
    Write-Warning "not installed: $_"
}
if ($code -eq 0) {
    Invoke-Step 'forget' { Invoke-Service forget | Out-Null }
    Invoke-Step 'what was replaced' { Remove-Aside }
    exit 0
}

# ---- back to what there was ------------------------------------------------------------------------

# The newer version first, as what it has set up is known to it; then that of before, with its own files.
if ($canUndo -and $aside) {
    Invoke-Step 'undo' { Invoke-Service undo @{ upgrade = $upgrade } | Out-Null }
}
if ($isUpgrade) {
    if ($aside) { Invoke-Step 'the files of before' { Restore-Files $aside } }
    if ($canUndo) { Invoke-Step 'undo of the version before' { Invoke-Service undo | Out-Null } }
    Invoke-Step 'what was replaced' { Remove-Aside }
} else {
    Invoke-Step 'the files of this version' { Remove-Files }
}
exit $code
